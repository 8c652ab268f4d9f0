"""The selection experiment: how its errors are counted, and that its models are calibrated at other grids."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import machines
from smp.kernels.grids.layouts import rectangles
from smp.models.fit.expressions import Expression

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from published.models.stencil import blocks_in
from published.selection import parameters, sorting, stencils
from published.selection.outcomes import Outcome, joined, penalties, share_right


def outcome() -> Outcome:
    """Return four cases: two right ones, one that loses 10%, and one in which only one implementation can be chosen."""
    predicted = [[1.0, 2.0, 3.0, np.inf], [2.0, 1.0, 2.0, 1.0]]
    true = [[1.0, 2.0, 2.0, np.inf], [2.0, 1.0, 2.2, 1.0]]
    return Outcome(("a", "b"), {"n": np.arange(4)}, np.array(predicted), np.array(true))


def test_losses_are_those_of_the_chosen_over_the_best() -> None:
    found = outcome()
    assert found.losses == pytest.approx([0, 0, 0.1, 0])
    assert found.error == pytest.approx((0.5 + 0.2 / 2.2) / 7)
    (worst,) = found.worst()
    assert (worst["n"], worst["chosen"], worst["best"]) == (2, "b", "a")


def test_rows_count_right_choices_and_what_wrong_ones_lose() -> None:
    right = share_right("", "some", outcome(), "", 80.0)
    mean, expected, most, near = penalties("", "some", joined([outcome(), outcome()]))
    assert (right.ours, right.inside) == (75.0, False)
    assert [row.ours for row in (mean, expected, most)] == pytest.approx([10, 2.5, 10])
    assert near.ours == 100  # the two times differ by 10%, and the models are wrong by 8.4% on average


@given(st.integers(2, 64), st.data())
def test_only_the_first_block_is_larger_if_one_column_is_left(count: int, data: st.DataObject) -> None:
    length = data.draw(st.integers(2 * count, 3000))
    strips = rectangles((10, length + 2), count, layout="rectangular", blocks=(1, count))
    sizes = np.array([one.right - one.left for one in strips])
    alone = sizes[0] > sizes[1:].max()
    assert Expression(stencils._only_first("width", count), ["width"]).of({"width": length}) == alone


def test_no_sort_is_one_that_the_models_were_calibrated_with() -> None:
    one = sorting.Choosing(machines.load("atm"), 16, np.random.default_rng(1))
    for width in sorting.WIDTHS:
        known = np.concatenate([sorting._keys_of(model) for model in (one.radix, one.sample[width])])
        assert not set(one.places(width).tolist()) & set(known.tolist())


@pytest.mark.parametrize("name", ["alewife", "atm"])
def test_models_of_layouts_choose_for_other_grids_than_they_are_calibrated_on(name: str) -> None:
    one = stencils.Choosing(machines.load(name), 16)
    grids = one.cases(60, 40, np.random.default_rng(1))
    known = {point for model in one.models.values() for point in stencils._points(model)}
    assert len({tuple(grid) for grid in grids.tolist()} - known) == 60
    two = np.sort(one.predicted(grids[20:]), axis=0)[:2]
    assert (two[1] / two[0] < 1 + stencils.NEAR).all()
    assert np.mean(one.outcome(grids).losses == 0) > 0.9


def test_without_extra_rows_the_charges_give_the_time_of_the_model() -> None:
    one = stencils.Choosing(machines.load("alewife"), 16)
    high, wide = blocks_in("square", 16)
    charges = parameters.charges(one)
    for rows, columns in ((20, 20), (30, 60)):
        time = one.seconds("square", columns * wide, rows * high)
        assert parameters.predicted(charges, columns * wide, rows * high, 16, (0, 0)) == pytest.approx(time, rel=0.02)


def test_the_digit_of_radix_sort_is_the_best_one() -> None:
    one = sorting.Choosing(machines.load("cm5"), 16, np.random.default_rng(1))
    assert all(loss < 1e-3 for _, _, loss in parameters.digit_losses(one, 5, np.random.default_rng(2)))
    assert max(one.missed(width) for width in sorting.WIDTHS) < 0.01
