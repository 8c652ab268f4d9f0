"""Relaxation chooses by models.  The models are made up, so that no test depends on measured times."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import examples

import smp
from smp._runtime.emulated.costs import Charges as VirtualCharges
from smp.kernels.costs import recorded
from smp.kernels.grids import functions, layout_choice
from smp.kernels.grids.blocked import IN_CACHE, WORTH_STREAMS, most_strips, relax_here
from smp.kernels.grids.choice import DEEPEST, WORTH_CHOOSING, depth_for, even_depths, libraries, relaxations, way
from smp.kernels.grids.extra_rows import Charges, best_extra, iteration_time
from smp.kernels.grids.functions import relax
from smp.kernels.grids.layout_choice import best_layout, layouts, sharings
from smp.kernels.grids.layouts import rectangles
from smp.kernels.grids.programs import cost, relax_red_black
from smp.kernels.grids.red_black import CHECK
from smp.kernels.grids.terms import MOST_CELLS, MOST_WORK, random_grid
from smp.models.fit.model import Model
from smp.models.fit.records import Quality
from smp.models.fit.specification import expressions_of
from smp.selection.library import Library

KINDS = ["float64", "float32"]
EXACT = Quality(count=9, verified=9, r_squared=1.0, mre_fit=0.0, mre=0.0, worst=0.0)


def use(library: Library, seconds: dict[str, float], terms: dict[str, float] | None = None) -> None:
    """Give a library models: for each implementation its constant of ``seconds``, plus the terms."""
    models = {}
    for each in library.specifications():
        name = each.name.split("/")[1]
        own = {} if "depth" not in each.inputs else terms or {}
        expressions = expressions_of(list(own), list(each.inputs))
        values = np.array([seconds.get(name, 1e9), *own.values()])
        covariance = np.zeros((len(values), len(values)))
        models[each.name] = Model(each.name, each.ranges, expressions, values, covariance, 0.01, 9, each.when, EXACT)
    library.use(models)


@pytest.fixture(autouse=True)
def no_models_stay() -> Iterator[None]:
    yield
    relaxations.cache_clear()
    layouts.cache_clear()


def by_sweeps(grid: NDArray[Any], iterations: int) -> NDArray[Any]:
    return np.asarray(relax(grid, iterations=iterations, depth=1))


# ------------------------------------------------------------------------------------ in the calling process


@pytest.mark.parametrize("kind", KINDS)
def test_auto_follows_the_models(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def spied(*args: Any, **how: Any) -> Any:
        asked.append(how)
        return relax_here(*args, **how)

    monkeypatch.setattr(functions, "relax_here", spied)
    monkeypatch.setattr("smp.kernels.grids.choice.streams_for", lambda machine: 2)
    grid = np.random.default_rng(1).random((300, 200)).astype(kind)
    expected = by_sweeps(grid, 20)
    balanced = {"ceil(iterations / depth)": 25.0, "depth": 1.0}  # 20 iterations: the minimum is 1 pass of 20
    for name, how in {
        "sweeps": {"depth": 0, "streams": 1, "least": 0},
        "one": {"depth": 20, "streams": 1, "least": 0},
        "all": {"depth": 20, "streams": 2, "least": 0},
    }.items():
        use(relaxations(kind, 2), {name: 1.0}, balanced)
        np.testing.assert_array_equal(relax(grid, iterations=20), expected)
        assert asked[-1] == how
    relax(grid, iterations=20, depth=3)
    assert asked[-1] == {"depth": 3, "streams": 1}  # the caller's choice stands
    relax(grid[:60, :60], iterations=20)
    assert asked[-1] == {"depth": None, "streams": 1}  # too little work to consult the models


@pytest.mark.parametrize("iterations", [16, 100])
def test_with_a_tolerance_the_models_predict_the_iterations_between_two_checks(
    iterations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def spied(shape: Any, kind: str, iterations: int, *others: Any) -> tuple[dict[str, Any], Any]:
        asked.append(iterations)
        return {}, lambda seconds: None

    monkeypatch.setattr(functions, "noted_way", spied)
    grid = np.random.default_rng(1).random((30, 30))
    with pytest.raises(smp.errors.NotConverged):
        relax(grid, tolerance=1e-300, iterations=iterations)
    relax(grid, iterations=iterations)
    assert asked == [CHECK, iterations]


@pytest.mark.parametrize("kind", KINDS)
def test_without_models_auto_follows_the_rule(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smp.kernels.grids.choice.streams_for", lambda machine: 2)
    assert not relaxations(kind, 2).models
    for shape, iterations in itertools.product([(40, 50), (1000, 1000), (3000, 900)], [1, 2, 20]):
        shared = shape[0] * shape[1] * min(iterations, CHECK) >= WORTH_STREAMS
        assert way(shape, kind, iterations, None, None) == {"depth": None, "streams": 1 + shared}
        cached = shape[0] * shape[1] * np.dtype(kind).itemsize < IN_CACHE
        rule = "sweeps" if cached else "all" if shared else "one"
        assert relaxations(kind, 2).choose(*shape, iterations) == rule
    assert WORTH_CHOOSING < WORTH_STREAMS


@settings(max_examples=examples(100), deadline=None)
@given(rows=st.integers(8, 5000), iterations=st.integers(1, 200), streams=st.integers(1, 16), best=st.floats(0.5, 40))
def test_passes_are_even_and_leave_each_stream_a_strip(rows: int, iterations: int, streams: int, best: float) -> None:
    def predict(rows: float, columns: float, iterations: float, depth: float) -> float:
        return -(-iterations // depth) * best * best + iterations * depth  # minimal at a depth of about ``best``

    depth = depth_for(streams).best(predict, (rows, 99, iterations))
    allowed = [d for d in range(1, min(iterations, DEEPEST) + 1) if d == 1 or most_strips(rows, d) >= streams]
    assert depth in allowed
    assert all(-(-iterations // d) > -(-iterations // depth) for d in range(1, depth))  # no smaller one makes as few
    even = [d for d in allowed if d == -(-iterations // -(-iterations // d))]
    assert predict(rows, 99, iterations, depth) <= min(predict(rows, 99, iterations, d) for d in even) * 1.2


def test_the_best_depth_is_found_wherever_it_lies() -> None:
    parameter = depth_for(1)
    for best in even_depths(100, DEEPEST):
        assert parameter.best(lambda r, c, k, depth, best=best: abs(depth - best), (500, 500, 100)) == best


def test_all_streams_are_not_chosen_if_there_are_too_few_rows() -> None:
    library = relaxations("float64", 2)
    use(library, {"all": 1.0, "one": 2.0})
    assert [library.choose(rows, 100, 8) for rows in (13, 14, 1000)] == ["one", "all", "all"]


# ----------------------------------------------------------------------------------------------- on a machine


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 8, 12])
def test_no_two_layouts_have_the_same_rectangles(p: int) -> None:
    for shape in ((40, 50), (50, 40)):
        found = {
            name: tuple(rectangles(shape, p, **how)) for name, how in sharings(p).items() if how["layout"] != "shared"
        }
        same = [pair for pair in itertools.combinations(found, 2) if found[pair[0]] == found[pair[1]]]
        assert all("square" in pair for pair in same)  # depending on the shape, it equals one of the others
    assert list(sharings(1)) == ["uniprocessor", "shared"]
    assert sharings(p)["shared"]["blocks"] == (p, 1)


@pytest.mark.parametrize("p", [2, 3, 6])
def test_program_takes_the_layout_that_the_models_choose(p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = np.random.default_rng(p).random((21, 17))
    expected = by_sweeps(grid, 5)
    library = layouts("float64", p)
    with smp.emulated(p) as machine:
        ran: list[dict[str, Any]] = []
        run = machine.run

        def spied(*args: Any, **how: Any) -> Any:
            ran.append(how)
            return run(*args, **how)

        monkeypatch.setattr(machine, "run", spied)
        for name, how in sharings(p).items():
            use(library, {name: 1.0})
            assert best_layout(grid.shape, "float64", 5, p) == how
            np.testing.assert_array_equal(relax(grid, iterations=5, layout="program", machine=machine), expected)
            assert {key: ran[-1].get(key) for key in how} == how


def test_predictions_for_grids_are_remembered_until_there_are_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    library = relaxations("float64", 2)
    use(library, {"sweeps": 2.0, "one": 3.0, "all": 1.0})
    predicted: list[tuple[float, ...]] = []
    predictions = library.predictions
    monkeypatch.setattr(library, "predictions", lambda *sizes: (predicted.append(sizes), predictions(*sizes))[1])
    assert [way((700, 800), "float64", 10, None, None, 2)["streams"] for _ in range(3)] == [2, 2, 2]
    assert predicted == [(700, 800, 10)]
    use(library, {"sweeps": 1.0, "one": 3.0, "all": 2.0})
    assert way((700, 800), "float64", 10, None, None, 2) == {"depth": 0, "streams": 1, "least": 0}
    assert predicted == [(700, 800, 10)] * 2


def test_a_choice_of_a_layout_is_remembered_until_there_are_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    library = layouts("float64", 2)
    use(library, {"horizontal": 1.0})
    asked: list[tuple[float, ...]] = []
    choose = library.choose
    monkeypatch.setattr(library, "choose", lambda *inputs: (asked.append(inputs), choose(*inputs))[1])
    first = best_layout((50, 60), "float64", 7, 2)
    first["layout"] = "changed by the caller"
    assert [best_layout((50, 60), "float64", 7, 2)["layout"] for _ in range(3)] == ["horizontal"] * 3
    assert asked == [(50, 60, 7)]
    assert best_layout((50, 61), "float64", 7, 2)["layout"] == "horizontal"
    use(library, {"vertical": 1.0})
    assert best_layout((50, 60), "float64", 7, 2)["layout"] == "vertical"
    assert asked == [(50, 60, 7), (50, 61, 7), (50, 60, 7)]


def test_no_more_choices_of_layouts_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_choice, "MOST_KNOWN", 3)
    layout_choice._known.clear()
    for rows in range(10, 20):
        assert best_layout((rows, 30), "float32", 9, 2)["layout"] == "uniprocessor"
        assert len(layout_choice._known) <= 3


@pytest.mark.parametrize(
    ("shape", "iterations", "layout"),
    [((100, 199), 3, "uniprocessor"), ((100, 199), 2, "shared"), ((100, 200), 3, "shared")],
)
def test_without_models_program_follows_the_rule(shape: tuple[int, int], iterations: int, layout: str) -> None:
    assert best_layout(shape, "float32", iterations, 2)["layout"] == layout


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_program_relaxes_to_a_tolerance(p: int) -> None:
    grid = np.zeros((24, 31))
    grid[0] = 1
    with smp.emulated(p) as machine:
        found, took = relax(grid, tolerance=1e-8, layout="program", machine=machine, full_output=True)
    expected, also = relax(grid, tolerance=1e-8, full_output=True)
    np.testing.assert_array_equal(found, expected)
    assert took == also


def test_program_accepts_no_blocks() -> None:
    with pytest.raises(ValueError, match=r"blocks=\(2, 1\) .* layout 'program', which chooses the blocks"):
        relax(np.zeros((9, 9)), layout="program", blocks=(2, 1), iterations=1)


@settings(max_examples=15, deadline=None)
@given(rows=st.integers(0, 15), columns=st.integers(0, 15), iterations=st.integers(0, 3), high=st.booleans())
def test_the_shared_layout_accepts_blocks(rows: int, columns: int, iterations: int, high: bool) -> None:
    blocks = (3, 1) if high else (1, 3)
    start = np.random.default_rng(rows).random((rows, columns))
    with smp.emulated(3) as machine:
        grid = machine.array(start)
        run = machine.run(relax_red_black, grid, layout="shared", blocks=blocks, iterations=iterations)
        np.testing.assert_array_equal(grid[:], by_sweeps(start, iterations))
    counted = cost(rows, columns, 3, iterations, layout="shared", blocks=blocks)
    np.testing.assert_array_equal(recorded(run), counted)
    strips = rectangles((rows, columns), 3, layout="rectangular", blocks=blocks)
    assert rectangles((rows, columns), 3, layout="shared", blocks=blocks) == strips


# ------------------------------------------------------------------------------------------------- libraries


def test_all_implementations_give_the_same_result() -> None:
    made = libraries(2)
    assert len({library.name for library in made}) == len(made) == 4
    for library, kind in zip(made[:2], KINDS, strict=True):
        start = random_grid(60, 50, 7, kind)
        results = set()
        for name, each in library.implementations.items():
            for how in [{}] if name == "sweeps" else [{}, {"depth": 1}, {"depth": 3}]:
                grid = start.copy()
                assert library.of(grid, 7) == (60, 50, 7)
                each.function(grid, 7, **how)
                results.add(grid.tobytes())
        assert len(results) == 1
        assert results != {start.tobytes()}
    with smp.emulated(2) as machine:
        for library, kind in zip(made[2:], KINDS, strict=True):
            start, results = random_grid(12, 15, 3, kind), set()
            for each in library.implementations.values():
                shared = machine.array(start)
                assert library.of(machine, shared, 3) == (12, 15, 3)
                each.function(machine, shared, 3)
                results.add(shared[:].tobytes())
            assert len(results) == 1


def test_the_work_of_measured_grids_is_bounded() -> None:
    for rows, columns, iterations in itertools.product((8, 700, 4096), (8, 700, 4096), (1, 20, 100)):
        grid = random_grid(rows, columns, iterations, "float32")
        assert len(grid) == rows
        most = min(MOST_CELLS, MOST_WORK // iterations)
        assert grid.size <= most
        assert grid.shape[1] == columns or grid.size > most - rows
        assert grid.dtype == np.float32


def test_grids_for_a_machine_are_made_on_the_enclosing_machine() -> None:
    library = layouts("float64", 3)
    assert library.setup is not None
    with smp.emulated(3) as machine:
        on, grid, iterations = library.setup(rows=9, columns=11, iterations=4)
        assert (on, grid.shape, iterations) == (machine, (9, 11), 4)


# ------------------------------------------------------------------------------------------------ extra rows

shapes = st.tuples(st.integers(0, 90), st.integers(0, 90))


@settings(max_examples=examples(60), deadline=None)
@given(shape=shapes, p=st.sampled_from([1, 2, 3, 5, 6, 9, 12, 16, 20]), element=st.floats(0.0, 60.0))
def test_no_change_by_one_row_or_column_improves_the_predicted_time(
    shape: tuple[int, int], p: int, element: float
) -> None:
    charges = Charges(cell=1.0, element=element)

    def time(extra: tuple[int, int]) -> float:
        sharing = rectangles(shape, p, extra_rows=extra[0], extra_columns=extra[1])
        return iteration_time(shape, sharing, charges)

    rows, columns = best_extra(shape, p, charges)
    for r, c in itertools.product((rows - 1, rows, rows + 1), (columns - 1, columns, columns + 1)):
        if 0 <= 2 * r <= shape[0] - 2 and 0 <= 2 * c <= shape[1] - 2:
            assert time((r, c)) >= time((rows, columns))


def test_extra_rows_pay_only_for_expensive_edges_between_inner_blocks() -> None:
    cheap, dear = Charges(1, 0.1), Charges(1, 30)
    shape = 202, 42
    assert best_extra(shape, 16, cheap) == (0, 0)
    assert best_extra(shape, 16, dear)[0] > 0
    assert max(best_extra(shape, p, dear) for p in (1, 2, 4)) == (0, 0)  # all blocks are at the border
    for layout in ("horizontal", "vertical", "uniprocessor"):
        assert best_extra(shape, 5, dear, layout=layout) == (0, 0)
    assert best_extra(shape, 16, dear, layout="rectangular", blocks=(8, 2))[1] == 0


def test_the_time_of_an_iteration_equals_a_count_by_hand() -> None:
    """4 x 4 blocks of 3 x 3: a side has one or two cells of each colour; some inner block has two on all four sides."""
    assert iteration_time((14, 14), rectangles((14, 14), 16), Charges(1, 0)) == 2 * 25
    assert iteration_time((14, 14), rectangles((14, 14), 16), Charges(0, 1)) == 2 * (8 + 8)


@pytest.mark.parametrize(
    ("shape", "p", "dearer"), [((80, 22), 9, 16), ((60, 60), 16, 32), ((150, 30), 12, 8), ((40, 40), 9, 1)]
)
def test_virtual_time_confirms_the_best_extra_rows(shape: tuple[int, int], p: int, dearer: int) -> None:
    """On this emulated machine a byte costs so much that barriers are negligible."""
    slow = 1_000  # ns

    def taken(extra: tuple[int, int]) -> float:
        grid = machine.zeros(shape, np.float64)
        run = machine.run(relax_red_black, grid, iterations=1, extra_rows=extra[0], extra_columns=extra[1])
        swept = run.summary()[1:3]
        return float(sum(swept[phase].sum() for phase in ("copy_in", "compute", "copy_out")))

    rows, columns = best = best_extra(shape, p, Charges(cell=1, element=dearer))
    charges = VirtualCharges(copied_byte=slow * dearer, looped_byte=slow)
    with smp.emulated(p, schedule="clock", charges=charges) as machine:
        least = taken(best)
        for beside in ((rows + 1, columns), (rows - 1, columns), (rows, columns + 1), (rows, columns - 1), (0, 0)):
            if min(beside) >= 0:
                assert taken(beside) >= 0.999 * least
