"""List ranking by models: the inputs of the models, the use of their choice, and the rules without models."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp.kernels import random_list, rank_helman_jaja, rank_list, scan_list
from smp.kernels.lists import at_once as list_at_once
from smp.kernels.lists import choice as list_library
from smp.kernels.lists import functions
from smp.kernels.lists.at_once import rank_at_once
from smp.kernels.lists.choice import libraries, programs, rankings, seen, shuffled
from smp.kernels.lists.fast import MOST_SUBLISTS, rank_fast
from smp.kernels.lists.forms import FORMS, WORTH_FAST
from smp.kernels.lists.sampling import BEYOND, LEAVING, MOST, NEAR, SHORT_WAITS, go_far, locality
from smp.kernels.lists.serial import rank_here
from smp.models.fit.model import Model
from smp.selection.implementation import Parameter
from smp.selection.library import Library

HERE = ["serial", "fast, 1 stream", "fast, 2 streams"]
Formulas = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def emulated() -> Iterator[smp.Machine]:
    with smp.emulated(2) as machine:
        yield machine


def modelled(library: Library, formulas: Formulas) -> Library:
    """Give a library models with these terms and coefficients; implementations that are left out take a second."""
    quality = {"count": 10, "verified": 10, "r_squared": 1.0, "mre_fit": 0.0, "mre": 0.0, "worst": 0.0, "log": ""}
    models = {}
    for specification in library.specifications():
        terms = formulas.get(specification.name.removeprefix(f"{library.name}/"), {"1": 1.0})
        models[specification.name] = Model.from_json(
            {
                "format": "smp-model",
                "version": 1,
                "name": specification.name,
                "inputs": dict(specification.inputs),
                "terms": {term: term for term in terms},
                "coefficients": list(terms.values()),
                "covariance": np.zeros((len(terms), len(terms))).tolist(),
                "residual": 0.0,
                "freedom": 5,
                "when": specification.when,
                "quality": quality,
                "machine": {},
            }
        )
    library.use(models)
    return library


def recording(library: Library, ran: list[str]) -> Library:
    """Let a library's implementations record their names when they run."""

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            ran.append(name)
            return function(*arguments, **keywords)

        return call

    for name, each in library.implementations.items():
        library.implementations[name] = replace(each, function=noted(name, each.function))
    return library


def on_two_streams(monkeypatch: pytest.MonkeyPatch, formulas: Formulas) -> list[str]:
    """Let "auto" use these models from two nodes on, wherever the links go; return a list of the names of what runs."""
    ran: list[str] = []
    made = recording(modelled(rankings.__wrapped__(2), formulas), ran)
    monkeypatch.setattr(list_library, "rankings", lambda streams: made)
    monkeypatch.setattr(functions, "WORTH_SUBLISTS", 2)
    monkeypatch.setattr(functions, "GLANCED", 0)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: False)
    made.worth = 2
    return ran


# -------------------------------------------------------------------------------- the inputs of the models


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [1, 2, 100, 70_000, 300_000])
def test_a_list_in_memory_order_has_no_far_links(n: int, dtype: Any) -> None:
    ordered = np.minimum(np.arange(1, n + 1, dtype=dtype), dtype(n - 1))
    backward = np.maximum(np.arange(-1, n - 1, dtype=dtype), dtype(0))
    assert locality(ordered) == locality(backward) == (0.0, NEAR)
    assert seen(ordered) == (n, ordered.itemsize, 0.0, NEAR)


def test_an_empty_list_has_no_far_links() -> None:
    assert seen(np.empty(0, np.int32)) == (0, 4, 0.0, NEAR)


@settings(max_examples=examples(60), deadline=None)
@given(n=st.integers(1, 400_000), doublings=st.integers(0, 40), wide=st.booleans())
def test_the_length_of_equal_links_is_found_exactly(n: int, doublings: int, wide: bool) -> None:
    dtype = np.int64 if wide or doublings > 29 else np.int32
    links = np.arange(1 << doublings, n + (1 << doublings), dtype=dtype)  # their targets are not read
    far, span = locality(links)
    reach = doublings + int(math.log2(links.itemsize))
    assert far == (1.0 if reach >= NEAR else 0.0)
    assert span == pytest.approx(reach if reach >= NEAR else NEAR, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [3 * 10**5, 2 * 10**6])
def test_links_of_a_random_list_span_the_distance_of_two_random_nodes(n: int, dtype: Any) -> None:
    far, span = locality(random_list(n, 4, dtype))
    assert far > 0.98
    mean, deviation = math.log2(n * np.dtype(dtype).itemsize) - 1.5 / math.log(2), math.sqrt(1.25) / math.log(2)
    assert span == pytest.approx(mean, abs=5 * deviation / math.sqrt(MOST))  # ln |u - v|: mean -3/2, variance 5/4


@pytest.mark.parametrize("long", [3, 20, 200])
def test_far_links_are_those_between_runs(long: int) -> None:
    n = 500_000
    far, _ = locality(shuffled(n, 4, math.log(long, n), 1.0))
    share = 1 / long
    assert far == pytest.approx(share, abs=5 * math.sqrt(share / MOST))


# ----------------------------------------------------------------------------------- lists for calibration


@settings(max_examples=examples(60), deadline=None)
@given(
    n=st.integers(1, 3000),
    width=st.sampled_from([4, 8]),
    run=st.floats(-0.5, 1.5),
    window=st.floats(0.0, 1.5),
    seed=st.integers(0, 9),
)
def test_lists_consist_of_runs_in_windows(n: int, width: int, run: float, window: float, seed: int) -> None:
    successor = shuffled(n, width, run, window, seed)
    assert successor.itemsize == width
    order = np.argsort(rank_here(successor))  # raises unless it is a list
    long, wide = (round(min(n, max(1, n**power))) for power in (run, window))
    runs = order // long
    windows = runs // max(1, wide // long)
    steps = np.diff(order)
    assert set(np.abs(steps[np.diff(runs) == 0]).tolist()) <= {1}
    assert np.count_nonzero(np.diff(runs)) == runs.max()  # each run is left once
    assert len(set(np.sign(steps[np.diff(runs) == 0]).tolist())) <= 1  # all runs go the same way
    assert (np.diff(windows) >= 0).all() or (np.diff(windows) <= 0).all()


def test_a_list_with_runs_of_one_node_in_one_window_is_random() -> None:
    rank = rank_here(shuffled(10_000, 8, 0.0, 1.0))
    assert abs(np.corrcoef(rank, np.arange(10_000))[0, 1]) < 5 / 100
    assert shuffled(10_000, 8, 0.0, 1.0, 1).tolist() != shuffled(10_000, 8, 0.0, 1.0, 2).tolist()


# --------------------------------------------------------------------------------------- in this process


@pytest.mark.parametrize("name", HERE)
@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 3000), seed=st.integers(0, 2**32), wide=st.booleans(), from_tail=st.booleans())
def test_auto_runs_the_implementation_predicted_to_be_fastest(
    name: str, n: int, seed: int, wide: bool, from_tail: bool
) -> None:
    successor = random_list(n, seed, np.int64 if wide else np.int32)
    with pytest.MonkeyPatch.context() as patch:
        ran = on_two_streams(patch, {name: {"1": 0.5}})
        ranks = rank_list(successor, from_tail=from_tail)
    assert ran == [name]
    np.testing.assert_array_equal(ranks, rank_here(successor, from_tail))


def test_auto_takes_the_order_in_memory_into_account(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = on_two_streams(
        monkeypatch, {"serial": {"n": 2e-9, "n * far * (span - 12)": 2e-9}, "fast, 1 stream": {"n": 3e-9}}
    )
    for window in (0.0, 1.0):
        rank_list(shuffled(20_000, 4, 0.0, window))
    assert ran == ["serial", "fast, 1 stream"]


def test_a_scan_uses_the_models_for_its_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = on_two_streams(monkeypatch, {"fast, 1 stream": {"1": 0.1}})
    assert scan_list([2, 4, 2, 1, 0], [10, 20, 30, 40, 50]).tolist() == [120, 60, 150, 40, 110]
    assert ran == ["fast, 1 stream"]


def test_an_invalid_list_is_refused_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HERE:
        on_two_streams(monkeypatch, {name: {"1": 0.1}})
        for wrong in ([1, 2, 0], [1, 5, 2], [-1, 1], [0, 1]):
            with pytest.raises(smp.errors.InvalidList):
                rank_list(wrong)


def test_models_are_not_consulted_for_short_lists_and_named_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any) -> Library:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(list_library, "rankings", asked)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: False)
    shortest = functions.GLANCED
    for algorithm in ("serial", "fast"):
        rank_list(random_list(shortest), algorithm=algorithm)
    for window in (0.5, 1.0):
        rank_list(shuffled(shortest - 1, 8, 0.0, window))
        with pytest.raises(AssertionError, match="asked"):
            rank_list(shuffled(shortest, 8, 0.0, window))


@pytest.mark.parametrize("streams", [1, 2, 5])
def test_without_models_the_library_follows_the_rule_of_rank_list(streams: int) -> None:
    library = rankings.__wrapped__(streams)
    assert not library.models
    chosen = [library.choose(n, 4, 0.5, 18.0) for n in (100, 7_999, 8_000, 399_999, 400_000)]
    many = f"fast, {streams} stream{'s' if streams > 1 else ''}"
    assert chosen == ["serial", "serial", "fast, 1 stream", "fast, 1 stream", many]
    near = [library.choose(n, 4, far, span) for n in (999_999, 1_000_000) for far, span in ((0.4, 18.0), (1.0, 14.0))]
    assert near == ["serial", "serial", many, many]
    ranks = library(random_list(60_000))
    np.testing.assert_array_equal(ranks, rank_here(random_list(60_000)))


@pytest.mark.parametrize("width", [4, 8])
def test_a_glance_shows_whether_links_leave_the_nearest_cache(width: int) -> None:
    for run, window, expected in ((0.0, 1.0, True), (1.2, 1.0, False), (0.5, 1.0, False), (0.0, 0.5, False)):
        for n in (50_000, 300_000):
            assert go_far(shuffled(n, width, run, window, seed=n)) == expected
    assert not go_far(shuffled((1 << LEAVING) // width, width, 0.0, 1.0))  # the whole list stays in the nearest cache


@pytest.mark.parametrize("doublings", [LEAVING, BEYOND])
def test_fewer_far_links_are_enough_in_a_list_that_is_too_long_for_the_second_cache(doublings: int) -> None:
    for n, least in ((SHORT_WAITS // 8 - 1, 0.25), (SHORT_WAITS // 8, 0.125 if doublings == BEYOND else 0.25)):
        for share in (0.0, 0.05, 0.18, 0.4, 0.7):
            near, reach = np.minimum(np.arange(1, n + 1), n - 1), (1 << doublings) // 8
            far = np.random.default_rng(1).random(n) < share
            assert go_far(np.where(far, (near + reach) % n, near)) == (share > least), (n, share)


@pytest.mark.parametrize("n", [60_000, 1_000_000])
def test_without_models_lists_whose_links_stay_near_are_walked_serially(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[str] = []

    def here(nodes: Any, from_tail: bool) -> Any:
        ways.append("serial")
        return rank_here(nodes, from_tail)

    def fast(nodes: Any, streams: int, from_tail: bool) -> Any:
        ways.append("fast")
        return rank_here(nodes, from_tail)

    monkeypatch.setattr(list_library, "rankings", rankings.__wrapped__)
    monkeypatch.setattr(functions, "GLANCED", 0)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: False)
    monkeypatch.setattr(functions, "rank_here", here)
    monkeypatch.setattr(functions, "rank_fast", fast)
    for run in (0.0, 1.2):
        nodes = shuffled(n, 4, run, 1.0)
        np.testing.assert_array_equal(rank_list(nodes), rank_here(nodes, False))
    assert ways == (["fast", "serial"] if n < WORTH_FAST else ["fast", "fast"])


@pytest.mark.parametrize("models", [False, True])
def test_a_glance_decides_how_short_lists_are_ranked(models: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are not asked, because that takes as long as they could save."""
    ways = list[str]()

    def ranked(name: str, nodes: Any, *more: Any) -> Any:
        ways.append(name)
        return rank_here(nodes, more[-1])

    def at_once(name: str, rank: Any, *arguments: Any) -> bool:
        ways.append(name)
        return bool(rank(*arguments))

    library = rankings.__wrapped__(2)
    for name in ("find_head_and_walk", "rank_at_once"):
        monkeypatch.setattr(functions, name, partial(at_once, name, getattr(functions, name)))
    monkeypatch.setattr(list_library, "rankings", lambda streams: library)
    monkeypatch.setattr(functions, "rank_here", partial(ranked, "serial"))
    monkeypatch.setattr(functions, "rank_fast", partial(ranked, "fast"))
    if models:
        modelled(library, {"serial": {"n": 1e-9}, "fast, 1 stream": {"n": 2e-9}})
        library.worth = 100
    shortest = functions.WORTH_SUBLISTS
    for n, run, way, strided_way in (
        (shortest - 1, 0.0, "find_head_and_walk", "serial"),
        (shortest, 1.2, "rank_at_once", "serial"),
        (30_000, 0.0, "rank_at_once", "fast"),
        (functions.GLANCED - 1, 1.2, "rank_at_once", "serial"),
        (functions.GLANCED - 1, 0.0, "rank_at_once", "fast"),
    ):
        nodes = shuffled(n, 8, run, 1.0)
        for successor, expected in ((nodes, way), (np.stack([nodes, nodes], axis=1)[:, 0], strided_way)):
            ways.clear()
            np.testing.assert_array_equal(rank_list(successor), rank_here(nodes, False))
            assert ways == [expected], (n, run)


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("window", [0.0, 0.5, 1.0])
def test_a_list_is_ranked_in_one_call_wherever_its_links_go(window: float, width: int) -> None:
    for n in (1000, 1001, 12_345, 80_000):
        nodes = shuffled(n, width, 0.0, window, seed=n)
        for sign in (1, -1):
            ranks = np.empty_like(nodes)
            assert rank_at_once(nodes, sign, ranks)
            np.testing.assert_array_equal(ranks, rank_here(nodes, sign < 0))
        joined = nodes.copy()
        joined[ranks == 0] = np.flatnonzero(ranks == n // 2)[0]  # the tail, which now leads to the middle: a cycle
        assert not rank_at_once(joined, 1, ranks)


def test_far_links_are_followed_in_sublists_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the compiled function, its Python is called, to see what it calls."""
    ways = list[str]()
    for name in ("find_head_and_walk", "rank_alone"):
        monkeypatch.setattr(list_at_once, name, lambda *_, name=name: not ways.append(name))
    for window, way in ((0.5, "find_head_and_walk"), (1.0, "rank_alone")):
        nodes = shuffled(50_000, 4, 0.0, window)
        ways.clear()
        assert rank_at_once.__wrapped__(nodes, 1, np.empty_like(nodes))
        assert ways == [way]


@pytest.mark.parametrize("cpus", [2, 3])
def test_on_two_cpus_far_links_are_followed_on_one_stream_up_to_a_longer_list(
    cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models are not asked, because two streams would take longer."""
    ran = on_two_streams(
        monkeypatch, {"serial": {"n": 2e-9}, "fast, 1 stream": {"n": 2e-9}, "fast, 2 streams": {"n": 1e-9}}
    )

    def fast(nodes: Any, streams: int, from_tail: bool) -> Any:
        ran.append(f"{streams} at once")
        return rank_here(nodes, from_tail)

    monkeypatch.setattr(functions, "rank_fast", fast)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: cpus <= 2)
    monkeypatch.setattr(functions, "WORTH_STREAMS", 90_000)
    list_library.rankings(2).correct = False
    for n, window, at_once in ((89_999, 1.0, True), (89_999, 0.5, False), (90_000, 1.0, False)):
        ran.clear()
        nodes = shuffled(n, 8, 0.0, window)
        np.testing.assert_array_equal(rank_list(nodes), rank_here(nodes))
        assert ran == ["1 at once" if at_once and cpus <= 2 else "fast, 2 streams"], (n, window)


def test_predictions_for_lists_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """For lengths and links that are nearly alike; new models are noticed."""
    library = rankings.__wrapped__(2)
    monkeypatch.setattr(list_library, "rankings", lambda streams: library)
    asked = list[tuple[float, ...]]()
    predictions = library.predictions

    def noted(*inputs: float) -> Any:
        asked.append(inputs)
        return predictions(*inputs)

    monkeypatch.setattr(library, "predictions", noted)
    monkeypatch.setattr(Library, "best", None)
    monkeypatch.setattr(functions, "GLANCED", 0)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: False)
    for times in range(1, 3):
        modelled(
            library, {"serial": {"n * span": 1e-9}, "fast, 1 stream": {"n": 15e-9}, "fast, 2 streams": {"n": 9e-9}}
        )
        library.worth = 0
        for n in (70_000, 71_000):
            for run in (0.0, 1.2):
                nodes = shuffled(n, 4, run, 1.0)
                np.testing.assert_array_equal(rank_list(nodes), rank_here(nodes, False))
        assert len(asked) == 2 * times
    for inputs, (far, span) in zip(asked[:2], ((1.0, 16.1), (0.0, 10.0)), strict=True):
        assert inputs == (pytest.approx(70_000, rel=0.05), 4.0, far, pytest.approx(span, abs=0.4))


# ------------------------------------------------------------------------------------------ on a machine


Runs = list[tuple[Callable[..., None], dict[str, Any]]]


def running(patch: pytest.MonkeyPatch, formulas: Formulas) -> Runs:
    """Let "program" use these models; the returned list collects the programs that machines run and their keywords."""
    runs: Runs = []
    made, original = modelled(programs.__wrapped__(2), formulas), smp.Machine.run

    def run(machine: smp.Machine, program: Callable[..., None], *arguments: Any, **keywords: Any) -> smp.Run:
        runs.append((program, keywords))
        return original(machine, program, *arguments, **keywords)

    patch.setattr(list_library, "programs", lambda processors: made)
    patch.setattr(smp.Machine, "run", run)
    return runs


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.terms])
@settings(max_examples=8, deadline=None)
@given(n=st.integers(64, 600), seed=st.integers(0, 2**32), from_tail=st.booleans())
def test_program_runs_the_implementation_predicted_to_be_fastest(
    emulated: smp.Machine, name: str, n: int, seed: int, from_tail: bool
) -> None:
    successor = random_list(n, seed)
    with pytest.MonkeyPatch.context() as patch:
        runs = running(patch, {name: {"1": 0.5}})
        ranks = rank_list(successor, machine=emulated, algorithm="program", from_tail=from_tail)
    assert [program for program, _ in runs] == [FORMS[name].program]
    np.testing.assert_array_equal(ranks, rank_here(successor, from_tail))


@pytest.mark.parametrize(("links", "idle"), [(1e-7, 1e-7), (1e-7, 64e-7), (1.0, 1e-9), (1e-9, 1.0)])
@pytest.mark.parametrize("n", [100, 1000, 1024, 50_000, 4_000_000])
def test_the_number_of_sublists_is_the_best_power_of_two(n: int, links: float, idle: float) -> None:
    library = modelled(programs.__wrapped__(2), {"helman-jaja": {"sublists": links, "n / sublists": idle}})
    choice = library.predictions(n, 4, 0.0, 10.0)["helman-jaja"]
    powers = [1 << k for k in range(3, 14) if 1 << k <= n / 8]
    best = min(powers, key=lambda sublists: links * sublists + idle * n / sublists)
    assert choice.keywords == {"sublists": best}
    parameter = Parameter(**FORMS["helman-jaja"].parameter)
    assert parameter.ends((n, 4, 0.0, 10.0))[1] == max(3, min(13, int(math.log2(n / 8))))


def test_the_number_of_sublists_is_passed_to_the_program(
    emulated: smp.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = running(monkeypatch, {"helman-jaja": {"sublists": 1e-7, "n / sublists": 1e-6}})
    rank_list(random_list(1638), machine=emulated, algorithm="program")  # the optimum: sqrt(16,380) = 127.98
    assert runs == [(rank_helman_jaja, {"from_tail": False, "sublists": 128})]


def test_program_is_helman_jaja_without_models_and_the_choice_of_the_models_with_them() -> None:
    library = programs.__wrapped__(3)
    assert library.choose(100, 4, 0.0, 10.0) == "helman-jaja"
    assert library.best(5_000_000, 8, 1.0, 22.0).keywords == {}
    modelled(library, {"wyllie": {"1": 1e-9}, "serial": {"1": 0.5}})
    assert library.choose(100_000, 4, 0.0, 10.0) == "wyllie"
    assert library.choose(100_001, 4, 0.0, 10.0) == "serial"
    assert library.choose(10, 4, 0.0, 10.0) == "wyllie"


def test_lists_of_no_nodes_and_of_few_are_ranked_on_a_machine(emulated: smp.Machine) -> None:
    assert rank_list([], machine=emulated, algorithm="program").shape == (0,)
    assert rank_list([0], machine=emulated, algorithm="program").tolist() == [0]
    assert scan_list([2, 4, 2, 1, 0], [1, 1, 1, 1, 1], machine=emulated, algorithm="program").tolist() == [
        4,
        2,
        5,
        1,
        3,
    ]


# --------------------------------------------------------------------------------------- for calibration


def test_each_library_has_its_own_name_and_inputs_within_its_ranges() -> None:
    made = [*libraries(1), *libraries(2), *libraries(3)]
    assert len({library.name for library in made}) == len(made)
    for n, width, run, window in ((100, 4, -0.5, 1.6), (5000, 8, 0.3, 0.7), (30_000, 4, 1.4, 0.4)):
        nodes = shuffled(n, width, run, window)
        for library in made[::2]:
            assert library.setup is not None
            arguments = library.setup(n=n, width=width, run=run, window=window)
            inputs = library.of(*arguments)
            assert inputs == seen(nodes)
            assert all(each.low <= x <= each.high for each, x in zip(library.ranges, inputs, strict=True))
            for each in library.implementations.values():
                np.testing.assert_array_equal(each.function(*arguments), rank_here(nodes))


def test_programs_are_calibrated_on_a_machine(emulated: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_library, "_machine", lambda processors: emulated)
    library = programs.__wrapped__(2)
    assert library.setup is not None
    machine, nodes = library.setup(n=600, width=8, run=0.0, window=1.0)
    assert machine is emulated
    assert library.of(machine, nodes) == seen(nodes)
    for name, each in library.implementations.items():
        ranks = each.function(machine, nodes, **({"sublists": 16} if name == "helman-jaja" else {}))
        np.testing.assert_array_equal(ranks.view, rank_here(nodes))


# --------------------------------------------------------------------------------- parameters of the fast form


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 3000),
    streams=st.integers(1, 3),
    sublists=st.integers(1, MOST_SUBLISTS),
    cursors=st.integers(1, 100),
    seed=st.integers(0, 2**32),
)
def test_sublists_and_cursors_never_change_the_ranks(
    n: int, streams: int, sublists: int, cursors: int, seed: int
) -> None:
    successor = random_list(n, seed)
    ranks = rank_fast(successor, streams, sublists=sublists, cursors=cursors, seed=seed)
    np.testing.assert_array_equal(ranks, rank_here(successor))


@pytest.mark.parametrize("wrong", [{"sublists": 0}, {"sublists": MOST_SUBLISTS + 1}, {"cursors": 0}])
def test_invalid_numbers_of_sublists_and_cursors_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        rank_fast(random_list(10), 1, **wrong)
