"""Plots of runs, intervals and models: the numbers that they show, and that notebooks can show them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import smp
from smp._runtime.program.display.phases import phase_states
from smp.errors import ModelError
from smp.models.fit.inputs import parsed
from smp.models.fit.model import Model
from smp.models.fit.records import Quality, Samples
from smp.models.fit.specification import expressions_of
from smp.models.supersteps.bars_figure import MOST, interval_figure
from smp.perturb.analysis.effects import analyse
from smp.perturb.designs.by_name import design
from smp.profiles import published_machine

PNG = b"\x89PNG"
PROFILE = Path(__file__).parents[1] / "data" / "profile" / "quick.json"


def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
    for label in ("a", "b"):
        with proc.superstep(label) as step:
            part = step.copy_in(array, proc.block(len(array)))
            step.compute()
            step.copy_out(array, proc.block(len(array)), part)


@pytest.fixture(scope="module")
def run() -> smp.Run:
    with smp.host(2) as machine:
        return machine.run(program, machine.zeros(50_000), repeat=3)


def test_each_phase_is_work_and_a_wait(run: smp.Run) -> None:
    spans, found = run.timeline(), phase_states(run.timeline())
    assert len(found) == 2 * len(spans)
    assert set(found["state"]) == {"copy-in", "compute", "copy-out", "wait"}
    seconds = found["end"] - found["start"]
    np.testing.assert_allclose(seconds[1::2], spans["waited"], atol=1e-12)
    np.testing.assert_allclose(seconds[::2] + seconds[1::2], spans["end"] - spans["start"], atol=1e-12)
    assert (found["start"][1::2] == found["end"][::2]).all()


def test_a_run_is_drawn_whole_or_in_part(run: smp.Run) -> None:
    (axes,) = run.plot().axes
    assert axes.get_xlim()[1] == pytest.approx(np.ptp([run.timeline()["start"].min(), run.timeline()["end"].max()]))
    (part,) = run.plot(supersteps=slice(1, 2)).axes
    assert part.get_xlim()[1] < axes.get_xlim()[1]
    assert run.plot()._repr_png_().startswith(PNG)
    with pytest.raises(ValueError, match="there is no superstep to draw: the run recorded 2"):
        run.plot(supersteps=slice(5, 9))


def test_an_interval_is_drawn_from_good_to_bad(run: smp.Run) -> None:
    interval = run.interval(published_machine("SGI Power Challenge"))
    assert interval.plot()._repr_png_().startswith(PNG)
    figure = interval_figure(["a", "b"], interval.measured, interval.good, interval.bad, interval.samples)
    bars, points = figure.panels[0].series
    np.testing.assert_allclose(bars.start, interval.good)
    np.testing.assert_allclose(np.add(bars.start, bars.x), interval.bad)
    np.testing.assert_allclose(points.x, interval.measured)
    assert interval.samples is not None
    np.testing.assert_allclose(bars.low, np.quantile(interval.samples, 0.25, axis=0))


def test_of_many_supersteps_those_that_took_the_most_time_are_drawn() -> None:
    measured = np.random.default_rng(1).permutation(np.arange(1.0, 101.0))
    figure = interval_figure([str(k) for k in range(100)], measured, measured / 2, 2 * measured, None)
    assert sorted(figure.panels[0].series[1].x) == list(range(101 - MOST, 101))
    assert [float(measured[int(name)]) for name in figure.panels[0].y.names] == figure.panels[0].series[1].x
    assert "the 40 of 100 supersteps" in figure.reading


def test_an_interval_without_supersteps_is_refused() -> None:
    with smp.host(1) as machine:
        empty = machine.run(lambda proc: None).interval(published_machine("SGI Power Challenge"), whole=False)
    with pytest.raises(ValueError, match="there is no superstep to draw"):
        empty.plot()


def model(samples: Samples | None) -> Model:
    quality = Quality(count=2, verified=1, r_squared=1.0, mre_fit=0.01, mre=0.02, worst=0.05)
    return Model(
        "copy",
        parsed({"n": "1..1e6"}),
        expressions_of(["n"], ["n"]),
        np.array([1e-6, 1e-9]),
        np.diag([1e-16, 1e-22]),
        residual=0.02,
        freedom=10,
        when="",
        quality=quality,
        samples=samples,
    )


KILOBYTES = 1000


def test_results_have_displays_in_notebooks(run: smp.Run) -> None:
    interval = run.interval(published_machine("SGI Power Challenge"))
    with warnings.catch_warnings(action="ignore"):
        profile = smp.Profile.load(PROFILE)
    effects = analyse(design("2^2"), np.array([[1.0, 2.0, 3.0, 5.0], [1.1, 2.0, 3.1, 5.0]]))
    seconds = np.array([2e-6, 1.1e-5])
    samples = Samples({"n": np.array([1e3, 1e4])}, seconds, [[s] for s in seconds], np.array([False, False]))
    for result, says, drawn in (
        (run, "copy-in", True),
        (interval, "measured", True),
        (profile, "Memory latency", True),
        (model(samples), "MRE", True),
        (model(None), "MRE", False),
        (effects, "effect", True),
        (smp.compare(profile, profile), "a: measured", False),
    ):
        shown = result._repr_html_()  # type: ignore[attr-defined]
        assert says in shown
        assert ("<svg" in shown) is drawn
        assert len(shown) < 50 * KILOBYTES


def test_a_run_without_supersteps_has_a_display() -> None:
    with smp.host(1) as machine:
        assert "run on 1 processor" in machine.run(lambda proc: None)._repr_html_()


def test_a_model_is_drawn_with_its_points() -> None:
    seconds = np.array([2e-6, 1.1e-5, 1e-4])
    samples = Samples({"n": np.array([1e3, 1e4, 1e5])}, seconds, [[s] for s in seconds], np.array([False, False, True]))
    (axes,) = model(samples).plot().axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["measured = predicted", "2 points fitted, MRE 0.0%", "1 points not fitted, MRE 1.0%"]
    with pytest.raises(ModelError, match="the model copy was stored without its samples"):
        model(None).plot()
