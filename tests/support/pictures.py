"""What every plot must be: titled, its axes named, with units, and nothing beyond its edge."""

from matplotlib.figure import Figure


def check(figure: Figure | None, name: str = "") -> None:
    """Assert that a plot is one to look at."""
    assert figure is not None, name
    assert figure.texts[0].get_text(), name
    axes = [one for one in figure.axes if one.get_subplotspec() is not None]  # all but colour bars
    assert any(one.get_xlabel() for one in axes), name
    assert any("(" in label for one in axes for label in (one.get_xlabel(), one.get_ylabel())), name  # a unit
    figure.draw_without_rendering()
    box = figure.get_tightbbox()  # in inches
    assert min(box.x0, box.y0) >= 0, name
    assert box.x1 <= 12, name
    assert box.y1 <= 8, name
