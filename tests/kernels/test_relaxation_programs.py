"""Red-black relaxation in supersteps: equal to NumPy slices, bit for bit, under every layout; and its counts."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import each, examples

import smp
from smp.errors import NotConverged, ProcessorRaised
from smp.kernels.costs import COST, recorded
from smp.kernels.grids.layouts import LAYOUTS, rectangles
from smp.kernels.grids.programs import cost, relax_red_black
from smp.kernels.grids.red_black import CHECK, best_omega

DTYPES = [np.float32, np.float64]


@pytest.fixture(scope="module", params=[1, 2, 3, 5, 6])
def emulated(request: pytest.FixtureRequest) -> Iterator[smp.Machine]:
    with smp.emulated(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def two() -> Iterator[smp.Machine]:
    with smp.host(2) as opened:
        yield opened


@pytest.fixture(scope="module")
def six() -> Iterator[smp.Machine]:
    with smp.emulated(6) as opened:
        yield opened


def by_slices(start: NDArray[Any], iterations: int, omega: float) -> tuple[NDArray[Any], float]:
    """Return the grid after the given number of iterations, and the largest change in the last."""
    grid, change = start.copy(), 0.0
    quarter, keep = grid.dtype.type(omega / 4), grid.dtype.type(1 - omega)
    inner = grid[1:-1, 1:-1]
    colours = np.indices(inner.shape).sum(axis=0) % 2  # (i, j) counted from (1, 1), which is red like (0, 0)
    for _ in range(iterations):
        change = 0.0
        for colour in (0, 1):
            around = (grid[:-2, 1:-1] + grid[2:, 1:-1]) + (grid[1:-1, :-2] + grid[1:-1, 2:])
            new = np.where(colours == colour, quarter * around + keep * inner, inner)
            change = max(change, float(np.abs(new - inner).max(initial=0)))
            inner[:] = new
    return grid, change


def random_grid(rows: int, columns: int, dtype: Any = np.float64, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, columns)).astype(dtype)


def factors(p: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.sampled_from([(n, p // n) for n in range(1, p + 1) if p % n == 0])


@st.composite
def sharings(draw: st.DrawFn, rows: int, columns: int, p: int) -> dict[str, Any]:
    """Draw a layout with all options that it takes."""
    layout = draw(st.sampled_from(LAYOUTS))
    extra = {
        "extra_rows": draw(st.integers(0, max(rows - 2, 0) // 2)),
        "extra_columns": draw(st.integers(0, max(columns - 2, 0) // 2)),
    }
    return {"layout": layout, **extra, **({"blocks": draw(factors(p))} if layout == "rectangular" else {})}


# ---------------------------------------------------------------------------------------------- results


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), rows=st.integers(0, 15), columns=st.integers(0, 15), iterations=st.integers(0, 4))
def test_every_layout_gives_the_bits_of_slices_and_the_predicted_counts(
    emulated: smp.Machine, data: st.DataObject, rows: int, columns: int, iterations: int
) -> None:
    sharing = data.draw(sharings(rows, columns, emulated.size))
    omega = data.draw(st.floats(0.1, 1.9))
    start = random_grid(rows, columns, data.draw(st.sampled_from(DTYPES)))
    grid = emulated.array(start)
    run = emulated.run(relax_red_black, grid, omega=omega, iterations=iterations, **sharing)
    expected, change = by_slices(start, iterations, omega)
    assert grid[:].tobytes() == expected.tobytes()
    assert run.results == [(iterations, change)] * emulated.size
    np.testing.assert_array_equal(recorded(run), cost(rows, columns, emulated.size, iterations, **sharing))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_host_processes_give_the_same_bits_and_counts(two: smp.Machine, layout: str, dtype: Any) -> None:
    start = random_grid(67, 130, dtype)
    grid, blocks = two.array(start), (1, 2) if layout == "rectangular" else None
    run = two.run(relax_red_black, grid, layout=layout, blocks=blocks, iterations=9)
    expected, change = by_slices(start, 9, best_omega(67, 130))
    assert grid[:].tobytes() == expected.tobytes()
    assert run.results == [(9, change)] * 2
    np.testing.assert_array_equal(recorded(run), cost(67, 130, 2, 9, layout=layout, blocks=blocks))


@pytest.mark.parametrize("exact", each(2, [lambda x, y: x * x - y * y, lambda x, y: x * y]))
def test_a_laplace_problem_takes_the_same_number_of_iterations_under_every_layout(six: smp.Machine, exact: Any) -> None:
    """The five-point stencil is exact for these functions, so the boundary determines the whole solution."""
    y, x = np.mgrid[0:1:21j, 0:1.5:31j]
    solution = exact(x, y)
    start = solution.copy()
    start[1:-1, 1:-1] = 0
    outcomes = set()
    for layout in LAYOUTS:
        grid, blocks = six.array(start), (6, 1) if layout == "rectangular" else None
        run = six.run(relax_red_black, grid, layout=layout, blocks=blocks, tolerance=1e-12)
        np.testing.assert_allclose(grid[:], solution, rtol=0, atol=1e-10)
        outcomes |= {(*result, grid[:].tobytes()) for result in run.results}
    ((iterations, change, _),) = outcomes
    assert iterations % CHECK == 0
    assert change < 1e-12 <= by_slices(start, iterations - CHECK, best_omega(21, 31))[1]


def test_convergence_is_checked_after_every_eighth_iteration_and_the_last(two: smp.Machine) -> None:
    start = random_grid(20, 20)
    changes = [by_slices(start, n, best_omega(20, 20))[1] for n in range(2 * CHECK + 4)]
    for tolerance, limit, expected in (
        (changes[3], None, CHECK),  # reached before, but not checked
        (changes[CHECK], None, 2 * CHECK),  # the change must be less
        (changes[CHECK] * 1.001, CHECK, CHECK),
        (changes[2 * CHECK + 2] * 1.001, 2 * CHECK + 2, 2 * CHECK + 2),
    ):
        run = two.run(relax_red_black, two.array(start), tolerance=tolerance, iterations=limit)
        assert run.results == [(expected, changes[expected])] * 2


@pytest.mark.parametrize("layout", ["square", "shared"])
def test_an_unconverged_grid_is_reported_and_keeps_the_last_iterate(two: smp.Machine, layout: str) -> None:
    start = random_grid(30, 30)
    expected, change = by_slices(start, 11, 1.0)
    grid = two.array(start)
    with pytest.raises(ProcessorRaised, match="11 iterations") as caught:
        two.run(relax_red_black, grid, layout=layout, omega=1.0, tolerance=1e-9, iterations=11)
    assert isinstance(caught.value.__cause__, NotConverged)
    assert f"{change:.3g}" in str(caught.value)
    assert grid[:].tobytes() == expected.tobytes()


def test_a_nan_ends_the_relaxation(two: smp.Machine) -> None:
    start = random_grid(12, 12)
    start[0, 4] = np.nan  # next to a black cell: in the first iteration no red cell reads it
    with pytest.raises(ProcessorRaised, match=f"after {CHECK} iterations.*change is nan") as caught:
        two.run(relax_red_black, two.array(start), tolerance=1e-9, iterations=10 * CHECK)
    assert isinstance(caught.value.__cause__, NotConverged)
    for layout in LAYOUTS[:4]:
        run = two.run(relax_red_black, two.array(start), layout=layout, iterations=1)
        assert [math.isnan(change) for _, change in run.results] == [True, True]


# ---------------------------------------------------------------------------------------------- layouts


@given(data=st.data(), rows=st.integers(0, 40), columns=st.integers(0, 40), p=st.integers(1, 12))
def test_every_interior_cell_belongs_to_one_processor(data: st.DataObject, rows: int, columns: int, p: int) -> None:
    sharing = rectangles((rows, columns), p, **data.draw(sharings(rows, columns, p)))
    owners = np.zeros((rows, columns), int)
    for mine in sharing:
        owners[mine.part()] += 1
        assert mine.of_colour(0) + mine.of_colour(1) == mine.cells
    expected = np.zeros((rows, columns), int)
    expected[1:-1, 1:-1] = 1
    np.testing.assert_array_equal(owners, expected)
    assert len(sharing) == p


@given(data=st.data(), rows=st.integers(3, 40), columns=st.integers(3, 40), p=st.integers(1, 12))
def test_edges_are_the_cells_that_neighbours_need(data: st.DataObject, rows: int, columns: int, p: int) -> None:
    """Cell by cell: outside edges are the other processors' cells next to one's own, and inside edges of the others."""
    sharing = rectangles((rows, columns), p, **data.draw(sharings(rows, columns, p)))
    cells = np.indices((rows, columns)).transpose(1, 2, 0)

    def listed(parts: Any) -> set[tuple[int, int]]:
        return {(int(i), int(j)) for part in parts for i, j in cells[part].reshape(-1, 2)}

    own = [listed([mine.part()]) for mine in sharing]
    interior = set().union(*own)
    for colour in (0, 1):
        inside = [listed(mine.edges((rows, columns), colour, outside=False)) for mine in sharing]
        for k, mine in enumerate(sharing):
            beside = {(i + a, j + b) for i, j in own[k] for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))} - own[k]
            wanted = {(i, j) for i, j in beside & interior if (i + j) % 2 == colour}
            assert listed(mine.edges((rows, columns), colour, outside=True)) == wanted
            assert wanted <= set().union(*inside[:k], *inside[k + 1 :])


@pytest.mark.parametrize(
    ("p", "sharing", "rows", "columns"),
    [
        (1, {}, [100], [40]),
        (16, {}, [25] * 4, [10] * 4),
        (12, {}, [25] * 4, [14, 13, 13]),  # more blocks along the longer side
        (8, {"layout": "shared"}, [25] * 4, [20] * 2),
        (5, {}, [20] * 5, [40]),
        (8, {"layout": "vertical"}, [100], [5] * 8),
        (8, {"layout": "horizontal"}, [13, 13, 13, 13, 12, 12, 12, 12], [40]),
        (8, {"layout": "rectangular", "blocks": (2, 4)}, [50] * 2, [10] * 4),
        (16, {"extra_rows": 3}, [27, 24, 23, 26], [10] * 4),  # 94 rows are shared out, then 3 more go to the outer two
        (16, {"extra_rows": 2, "extra_columns": 1}, [26, 24, 24, 26], [11, 10, 9, 10]),
        (4, {"extra_rows": 9, "extra_columns": 20}, [50] * 2, [20] * 2),  # no middle blocks, so nothing to even out
        (2, {}, [50] * 2, [40]),
        (3, {"extra_rows": 49}, [50, 1, 49], [40]),
    ],
)
def test_blocks_have_the_expected_sizes(p: int, sharing: dict[str, Any], rows: list[int], columns: list[int]) -> None:
    found = [(mine.bottom - mine.top, mine.right - mine.left) for mine in rectangles((102, 42), p, **sharing)]
    assert found == [(high, wide) for high in rows for wide in columns]


def test_the_uniprocessor_layout_gives_the_other_processors_no_cells(six: smp.Machine) -> None:
    run = six.run(relax_red_black, six.array(random_grid(9, 9)), layout="uniprocessor", iterations=2)
    others = run.steps[run.steps["rank"] > 0]
    assert len(others) == 5 * 6
    assert not others["reads"].any()
    assert not others["writes"].any()


@pytest.mark.parametrize(
    ("grid", "p", "layout", "expected"),
    [
        ((10, 10), 4, "square", [("init", 36, 0, 144), ("red", 4, 4, 32), ("black", 4, 4, 32), ("result", 0, 16, 64)]),
        # 4 x 4 again: the block in the middle has four neighbours, four blocks have three, and four have two
        ((14, 14), 9, "square", [("init", 36, 0, 324), ("red", 8, 8, 96), ("black", 8, 8, 96), ("result", 0, 16, 144)]),
        # 3 x 3 and 3 x 2: where they meet, red, black, red lies next to black, red, black
        ((5, 7), 2, "vertical", [("init", 25, 0, 45), ("red", 2, 2, 6), ("black", 2, 2, 6), ("result", 0, 9, 15)]),
        ((5, 7), 2, "shared", [("red", 0, 5, 8), ("black", 0, 4, 7)]),
        ((5, 7), 2, "uniprocessor", [("init", 35, 0, 35), ("red", 0, 0, 0), ("black", 0, 0, 0), ("result", 0, 15, 15)]),
    ],
)
def test_costs_equal_counts_by_hand(
    grid: tuple[int, int], p: int, layout: str, expected: list[tuple[str, int, int, int]]
) -> None:
    found = cost(*grid, p, 1, layout=layout)
    assert found.dtype == COST
    assert found.tolist() == expected


# ------------------------------------------------------------------------------------------ invalid input


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"layout": "round"}, ValueError, "round.*uniprocessor, square, vertical"),
        ({"layout": "rectangular"}, ValueError, "needs blocks"),
        ({"blocks": (1, 2)}, ValueError, "no other layout"),
        ({"layout": "rectangular", "blocks": (2, 2)}, ValueError, r"\(2, 2\) does not fit 2 processors"),
        ({"layout": "rectangular", "blocks": (2,)}, ValueError, r"\(2,\) does not fit 2 processors"),
        ({"layout": "rectangular", "blocks": (0.5, 4)}, TypeError, "0.5"),
        ({"extra_rows": 4}, ValueError, "4 extra rows.*7 rows"),
        ({"extra_columns": -1}, ValueError, "extra_columns.*-1"),
        ({"extra_rows": 1.5}, TypeError, "extra_rows.*1.5"),
        ({"omega": 0.0}, ValueError, "0.0"),
        ({"omega": 2.0}, ValueError, "2.0"),
        ({"omega": math.nan}, ValueError, "nan"),
        ({"iterations": None}, ValueError, "tolerance.*iterations"),
        ({"iterations": -1}, ValueError, "-1"),
        ({"iterations": 2.5}, TypeError, "float"),
        ({"tolerance": 0.0}, ValueError, "0.0"),
        ({"tolerance": math.nan}, ValueError, "nan"),
    ],
)
def test_invalid_options_are_refused(
    two: smp.Machine, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    grid = two.array(random_grid(9, 9))
    with pytest.raises(ProcessorRaised, match=words) as caught:
        two.run(relax_red_black, grid, **{"iterations": 1, **options})
    assert isinstance(caught.value.__cause__, error)
    assert grid[:].tobytes() == random_grid(9, 9).tobytes()


@pytest.mark.parametrize(
    ("start", "error", "words"),
    [
        (np.zeros(9), ValueError, r"\(9,\)"),
        (np.zeros((3, 3, 3)), ValueError, r"\(3, 3, 3\)"),
        (np.zeros((9, 9), int), TypeError, "int64"),
        (np.zeros((9, 9), ">f8"), TypeError, ">f8"),
    ],
)
def test_an_array_that_is_not_a_grid_is_refused(
    two: smp.Machine, start: NDArray[Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(ProcessorRaised, match=words) as caught:
        two.run(relax_red_black, two.array(start), iterations=1)
    assert isinstance(caught.value.__cause__, error)
