"""Red-black relaxation: equal to NumPy slices, bit for bit, and close to solutions of Laplace's equation."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import examples

import smp
from smp._runtime.loops.compiler import numba
from smp.errors import NotConverged
from smp.kernels.grids import row_pair, row_pair_instruction
from smp.kernels.grids.blocked import best_depth, most_strips, relax_here, relax_pass
from smp.kernels.grids.functions import relax
from smp.kernels.grids.red_black import CHECK, best_omega, relax_rectangle

DTYPES = [np.float32, np.float64]
Grid = NDArray[Any]


def half_sweep(grid: Grid, colour: int, omega: float) -> float:
    """Relax all cells of a colour by the formula, on slices; return the largest change."""
    kind, (rows, columns) = grid.dtype.type, grid.shape
    quarter, keep = kind(omega / 4), kind(1 - omega)
    inner = grid[1:-1, 1:-1]
    around = (grid[:-2, 1:-1] + grid[2:, 1:-1]) + (grid[1:-1, :-2] + grid[1:-1, 2:])
    new = quarter * around + keep * inner
    cells = np.add.outer(np.arange(1, rows - 1), np.arange(1, columns - 1)) % 2 == colour
    changes = np.abs(new - inner)[cells]
    inner[cells] = new[cells]
    return float(np.max(changes, initial=0))


def swept(grid: Grid, iterations: int, omega: float) -> tuple[Grid, float]:
    """Return the grid after the given number of iterations, and the largest change in the last."""
    result, change = grid.copy(), 0.0
    if min(grid.shape) >= 3:
        with np.errstate(invalid="ignore", over="ignore"):
            for _ in range(iterations):
                change = float(np.maximum(half_sweep(result, 0, omega), half_sweep(result, 1, omega)))
    return result, change


def random_grid(rows: int, columns: int, dtype: Any = np.float64, seed: int = 1) -> Grid:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, columns)).astype(dtype)


def factors(omega: float, dtype: Any) -> tuple[float, float]:
    return float(dtype(omega / 4)), float(dtype(1 - omega))


sides = st.one_of(st.integers(0, 12), st.integers(13, 70))
omegas = st.floats(0.1, 1.9)


# ------------------------------------------------------------------------------------------ rectangles


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), dtype=st.sampled_from(DTYPES), colour=st.sampled_from([0, 1]), omega=omegas)
def test_exactly_the_cells_of_the_rectangle_are_relaxed(
    data: st.DataObject, dtype: Any, colour: int, omega: float
) -> None:
    rows, columns = data.draw(st.integers(3, 12)), data.draw(st.integers(3, 90) | st.sampled_from([64, 128]))
    top, left = data.draw(st.integers(1, rows - 1)), data.draw(st.integers(1, columns - 1))
    bottom, right = data.draw(st.integers(top, rows - 1)), data.draw(st.integers(left, columns - 1))
    grid = random_grid(rows, columns, dtype)
    whole = grid.copy()
    half_sweep(whole, colour, omega)
    expected = grid.copy()
    expected[top:bottom, left:right] = whole[top:bottom, left:right]
    change = float(np.max(np.abs(expected - grid), initial=0))
    assert relax_rectangle(grid, top, bottom, left, right, colour, *factors(omega, dtype)) == change
    np.testing.assert_array_equal(grid, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", range(0, 64, 8))
def test_a_grid_may_begin_anywhere_in_a_cache_line(dtype: Any, offset: int) -> None:
    held = np.zeros(8 * 64 * np.dtype(dtype).itemsize + 128, np.uint8)
    begin = -held.ctypes.data % 64 + offset
    grid = held[begin : begin + 8 * 64 * np.dtype(dtype).itemsize].view(dtype).reshape(8, 64)
    grid[...] = random_grid(8, 64, dtype)
    expected, change = swept(grid, 1, 1.5)
    red, black = (relax_rectangle(grid, 1, 7, 1, 63, colour, *factors(1.5, dtype)) for colour in (0, 1))
    np.testing.assert_array_equal(grid, expected)
    assert max(red, black) == change


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("colour", [0, 1])
def test_a_compiled_pair_of_rows_equals_its_interpreted_form(dtype: Any, colour: int) -> None:
    grid = random_grid(5, 80, dtype)
    kind, in_python, compiled = grid.dtype.type, grid.copy(), grid.copy()
    pair = smp.local(lambda g, row, q, k, c: row_pair.relax_row_pair(g, row, 3, 2, c, q, k))
    expected = row_pair.relax_row_pair(in_python, 2, 3, 2, colour, kind(0.4), kind(-0.6))
    assert pair(compiled, 2, kind(0.4), kind(-0.6), colour) == expected
    np.testing.assert_array_equal(compiled, in_python)
    changed = np.argwhere(in_python != grid)
    lanes = 64 // grid.itemsize
    assert set(changed[:, 0]) == {2, 3}
    assert set(changed[:, 1]) == set(range(3, 3 + 2 * lanes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("chosen", [False, True])
def test_a_pair_of_rows_is_the_same_with_both_kinds_of_stores(
    dtype: Any, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This CPU would take one of them: chosen lanes, or whole vectors with the old cells of the other colour."""
    asked = list[bool]()
    monkeypatch.setattr(row_pair_instruction, "stores_chosen_lanes", lambda context: asked.append(chosen) or chosen)
    loop = row_pair_instruction._loop
    pair = numba().njit(lambda g, row, q, k, c: loop(g, row, 3, 2, c, q, k))
    for row, colour in ((1, 0), (1, 1), (2, 0), (2, 1)):
        grid = random_grid(5, 80, dtype)
        expected, kind = grid.copy(), grid.dtype.type
        most = row_pair.relax_row_pair(expected, row, 3, 2, colour, kind(0.4), kind(-0.6))
        assert pair(grid, row, kind(0.4), kind(-0.6), colour) == most
        np.testing.assert_array_equal(grid, expected)
    assert asked == [chosen]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(4, 5), (4, 30), (1, 1), (6, 60)])
def test_values_that_are_not_finite_spread_and_are_reported(dtype: Any, value: float, place: tuple[int, int]) -> None:
    grid = random_grid(9, 63, dtype)
    grid[place] = value
    expected, change = swept(grid, 2, 1.5)
    relaxed, took = relax(grid, iterations=2, omega=1.5, full_output=True)
    np.testing.assert_array_equal(relaxed, expected)
    assert math.isnan(change)
    assert math.isnan(took.change)


# ---------------------------------------------------------------------------------------------- passes


@settings(max_examples=examples(120), deadline=None)
@given(rows=sides, columns=sides, dtype=st.sampled_from(DTYPES), depth=st.integers(1, 9), strips=st.integers(1, 5))
def test_a_pass_makes_its_iterations_on_any_number_of_strips(
    rows: int, columns: int, dtype: Any, depth: int, strips: int
) -> None:
    grid = random_grid(rows, columns, dtype)
    expected, change = swept(grid, depth, 1.7)
    assert relax_pass(grid, depth, min(strips, most_strips(rows, depth)), *factors(1.7, dtype)) == change
    np.testing.assert_array_equal(grid, expected)


@pytest.mark.parametrize("strips", [1, 2, 3, 5])
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize("extra", [0, 1, 7])
def test_strips_may_have_as_few_rows_as_allowed(strips: int, depth: int, extra: int) -> None:
    rows = strips * (4 * depth + 2) + 2 + extra
    assert most_strips(rows, depth) >= strips
    grid = random_grid(rows, 40)
    expected, change = swept(grid, depth, 1.3)
    assert relax_pass(grid, depth, strips, *factors(1.3, np.float64)) == change
    np.testing.assert_array_equal(grid, expected)


@settings(max_examples=examples(60), deadline=None)
@given(
    rows=st.integers(3, 60),
    columns=st.integers(3, 40),
    iterations=st.integers(0, 20),
    depth=st.none() | st.integers(1, 9),
)
def test_the_given_number_of_iterations_is_made(rows: int, columns: int, iterations: int, depth: int | None) -> None:
    grid = random_grid(rows, columns)
    expected, change = swept(grid, iterations, best_omega(rows, columns))
    relaxed, took = relax(grid, iterations=iterations, depth=depth, full_output=True)
    np.testing.assert_array_equal(relaxed, expected)
    assert took == (iterations, change, best_omega(rows, columns))


@pytest.mark.parametrize("dtype", DTYPES)
def test_streams_that_share_a_grid_give_the_same_result(dtype: Any) -> None:
    grid = random_grid(1500, 701, dtype)
    expected, change = swept(grid, 9, 1.9)
    for streams in (1, 2, 3):
        relaxed = grid.copy()
        assert relax_here(relaxed, 9, None, *factors(1.9, dtype), streams=streams) == (9, change)
        np.testing.assert_array_equal(relaxed, expected)


@pytest.mark.parametrize(
    ("shape", "streams", "depth"),
    [((8192, 8192), 2, 8), ((8192, 32768), 2, 1), ((40, 8192), 2, 3), ((12, 100_000), 4, 1), ((20_000, 1000), 2, 8)],
)
def test_the_depth_of_a_pass_suits_the_cache_and_the_strips(shape: tuple[int, int], streams: int, depth: int) -> None:
    assert best_depth(np.broadcast_to(np.float64(0), shape), streams) == depth


# ------------------------------------------------------------------------------------------- solutions


def test_a_linear_function_is_the_solution_of_its_boundary() -> None:
    exact = np.add.outer(3.0 * np.arange(40), -2.0 * np.arange(55)) + 7
    start = exact.copy()
    start[1:-1, 1:-1] = 0
    np.testing.assert_allclose(relax(start, tolerance=1e-12), exact, atol=1e-9)


def test_a_sine_on_one_edge_gives_its_discrete_solution() -> None:
    n, k = 48, 3
    start = np.zeros((n + 1, n + 1))
    start[0] = np.sin(np.pi * k * np.arange(n + 1) / n)
    decay = math.acosh(2 - math.cos(math.pi * k / n))  # of the five-point formula, not the differential equation
    rows = np.arange(n, -1, -1) * decay
    exact = np.outer(np.sinh(rows) / np.sinh(rows[0]), start[0])
    np.testing.assert_allclose(relax(start, tolerance=1e-13), exact, atol=1e-11)


def test_the_best_omega_is_better_than_its_neighbours() -> None:
    start = random_grid(60, 90)

    def iterations(omega: float | None) -> int:
        return relax(start, tolerance=1e-8, omega=omega, full_output=True)[1].iterations

    best = iterations(None)
    assert best < iterations(1.9)
    assert best < iterations(1.98)
    assert 10 * best < iterations(1.0)


@pytest.mark.parametrize("shape", [(20, 20), (9, 33), (5, 4)])
def test_the_best_omega_comes_from_the_spectral_radius_of_jacobis_iteration(shape: tuple[int, int]) -> None:
    rows, columns = (n - 2 for n in shape)
    path = [np.eye(n, k=1) + np.eye(n, k=-1) for n in (rows, columns)]
    jacobi = (np.kron(path[0], np.eye(columns)) + np.kron(np.eye(rows), path[1])) / 4
    radius = np.max(np.abs(np.linalg.eigvalsh(jacobi)))
    assert best_omega(*shape) == pytest.approx(2 / (1 + math.sqrt(1 - radius**2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_default_tolerance_can_be_met(dtype: Any) -> None:
    start = (random_grid(80, 60) + 1000).astype(dtype)
    start[1:-1, 1:-1] = 0
    relaxed, took = relax(start, full_output=True)
    assert took.iterations % CHECK == 0
    assert took.change < 1e-2
    assert relaxed.dtype == dtype
    assert start.min() == 0
    assert relaxed.min() > 998


def test_relaxation_stops_at_the_first_check_below_the_tolerance() -> None:
    start = random_grid(30, 30)
    changes = [swept(start, k, best_omega(30, 30))[1] for k in range(8, 81, 8)]
    for tolerance in (1e-2, 1e-4, 1e-6):
        expected = 8 * (1 + next(k for k, change in enumerate(changes) if change < tolerance))
        for depth in (None, 1, 3, 8):
            _, took = relax(start, tolerance=tolerance, depth=depth, full_output=True)
            assert took.iterations == expected
            assert took.change == changes[expected // 8 - 1]


# ------------------------------------------------------------------------------------------- interface


def test_grids_with_any_strides_and_read_only_ones_are_accepted() -> None:
    whole = random_grid(40, 60)
    expected, _ = swept(np.ascontiguousarray(whole[::2, ::-3]), 5, 1.2)
    view = whole[::2, ::-3]
    view.flags.writeable = False
    before = whole.copy()
    np.testing.assert_array_equal(relax(view, iterations=5, omega=1.2), expected)
    np.testing.assert_array_equal(relax(np.asfortranarray(view), iterations=5, omega=1.2), expected)
    np.testing.assert_array_equal(relax(view.astype(">f8"), iterations=5, omega=1.2), expected)
    np.testing.assert_array_equal(whole, before)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_result_can_be_written_anywhere(order: Any) -> None:
    grid = random_grid(20, 30)
    expected, _ = swept(grid, 4, 1.2)
    out = np.empty(grid.shape, order=order)
    assert relax(grid, iterations=4, omega=1.2, out=out) is out
    np.testing.assert_array_equal(out, expected)
    held = np.zeros((21, 31))
    held[:20, :30] = grid
    relax(held[:20, :30], iterations=4, omega=1.2, out=held[1:, 1:])  # the two overlap
    np.testing.assert_array_equal(held[1:, 1:], expected)
    assert relax(grid, iterations=4, omega=1.2, out=grid) is grid
    np.testing.assert_array_equal(grid, expected)


def test_integers_become_float64() -> None:
    assert relax([[4, 4, 4], [4, 0, 4], [4, 4, 4]], iterations=1).tolist() == [[4.0] * 3] * 3


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (1, 1), (2, 2), (2, 9), (9, 2), (5, 0)])
def test_a_grid_without_interior_stays_the_same(shape: tuple[int, int]) -> None:
    grid = random_grid(*shape)
    relaxed, took = relax(grid, iterations=3, full_output=True)
    np.testing.assert_array_equal(relaxed, grid)
    assert took == (3, 0.0, 1.0)
    np.testing.assert_array_equal(relax(grid), grid)


def test_the_last_iterate_is_kept_if_relaxation_did_not_converge() -> None:
    grid = random_grid(20, 30)
    expected, change = swept(grid, 11, 1.2)
    out = np.empty_like(grid, order="F")
    with pytest.raises(NotConverged, match=rf"after 11 iterations.* {change:.3g}, not below the tolerance of 1e-12"):
        relax(grid, tolerance=1e-12, iterations=11, omega=1.2, out=out)
    np.testing.assert_array_equal(out, expected)
    assert isinstance(pickle.loads(pickle.dumps(NotConverged("why"))), NotConverged)


def test_a_change_that_is_not_a_number_ends_the_iterations_at_once() -> None:
    grid = random_grid(20, 30)
    grid[7, 7] = np.nan
    with pytest.raises(NotConverged, match=r"after 8 iterations.* not a number"):
        relax(grid)


@pytest.mark.parametrize("layout", ["square", "vertical", "horizontal", "shared", "rectangular"])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_all_layouts_of_a_machine_give_the_same_result(layout: str, p: int) -> None:
    grid = random_grid(13, 17)
    blocks = (p, 1) if layout == "rectangular" else None
    expected, took = relax(grid, tolerance=1e-5, full_output=True)
    with smp.emulated(p) as machine:
        found, also = relax(grid, tolerance=1e-5, layout=layout, blocks=blocks, machine=machine, full_output=True)
        np.testing.assert_array_equal(found, expected)
        assert also == took
        with machine, pytest.raises(NotConverged, match="after 3 iterations"):
            relax(grid, tolerance=1e-5, iterations=3, layout=layout, blocks=blocks, out=found)
        np.testing.assert_array_equal(found, relax(grid, iterations=3))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"grid": np.zeros(4)}, ValueError, r"rows and columns, but this one has shape \(4,\)"),
        ({"grid": np.zeros((4, 4), complex)}, TypeError, "complex128"),
        ({"grid": [["a"]]}, TypeError, "relaxation takes float32 and float64"),
        ({"omega": 2.0}, ValueError, "omega is 2.0"),
        ({"omega": 0.0}, ValueError, "0 < omega < 2"),
        ({"omega": math.nan}, ValueError, "omega is nan"),
        ({"tolerance": 0.0}, ValueError, "tolerance"),
        ({"iterations": -1}, ValueError, "-1"),
        ({"depth": 0}, ValueError, "depth, .* must be at least 1, not 0"),
        ({"layout": "diagonal"}, ValueError, "unknown layout 'diagonal'; choose one of auto, uni"),
        ({"out": np.zeros((4, 5))}, ValueError, r"\(4, 4\), like the grid, not .* shape \(4, 5\)"),
        ({"out": np.zeros((4, 4), np.float32)}, ValueError, "float32"),
        ({"out": [[0]]}, ValueError, "out must .*, not list"),
        ({"out": np.broadcast_to(0.0, (4, 4))}, ValueError, "read-only"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        relax(**{"grid": np.zeros((4, 4)), **arguments})


def test_options_that_a_layout_has_no_use_for_are_refused() -> None:
    with pytest.raises(ValueError, match="blocks=\\(2, 1\\) cannot be given with layout 'auto'"):
        relax(np.zeros((9, 9)), blocks=(2, 1), iterations=1)
    with pytest.raises(ValueError, match=r"depth=4 cannot be given with layout 'vertical', .*: leave depth out"):
        relax(np.zeros((9, 9)), layout="vertical", depth=4, iterations=1)


def test_blocks_that_do_not_fit_the_machine_are_refused() -> None:
    with smp.emulated(3), pytest.raises(ValueError, match="must be 3"):
        relax(np.zeros((9, 9)), layout="rectangular", blocks=(2, 2), iterations=1)
