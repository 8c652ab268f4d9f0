"""The size from which a library's models are asked: determined from made-up times, kept, and used by the kernels."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import ModelError
from smp.kernels.grids import choice as grids
from smp.kernels.lists import choice as lists
from smp.kernels.lists import functions as ranking
from smp.kernels.sorting import at_once
from smp.kernels.sorting import choice as sorts
from smp.kernels.sorting import functions as sorting
from smp.kernels.sorting.by_vectors import vectors
from smp.microbench.calibration.tables import report
from smp.selection import guards, kept, timings
from smp.selection.guards import determined, threshold
from smp.selection.implementation import Guard, Implementation
from smp.selection.library import Library


def library_of(steep: float, guard: Guard | None = None, correct: bool = False) -> Library:
    """Return a library: ``plain`` takes 1 ns an element, ``steep`` 1 us and so many ns an element."""
    made = Library(
        "two", {"n": "10..1e6 x 30"}, lambda n: (n,), guard=guard or Guard("n", 5000.0, "plain"), correct=correct
    )
    made.add(
        Implementation("plain", lambda n: 1e-9 * n, ["n"]),
        Implementation("steep", lambda n: 1e-6 + steep * 1e-9 * n, ["n"]),
    )
    return made


@pytest.fixture
def calibrated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Library]:
    def made(steep: float, choice_s: float, guard: Guard | None = None, correct: bool = False) -> Library:
        monkeypatch.setattr(timings, "timed", lambda call: call())
        monkeypatch.setattr(guards, "choice_seconds", lambda library, rng: [(10.0, choice_s), (1e6, choice_s)])
        return smp.calibrate(library_of(steep, guard, correct), verification=5)

    return made


def test_the_guard_lies_where_the_choice_begins_to_pay(calibrated: Callable[..., Library]) -> None:
    """With n/2 saved of n ns, 1 us to start with and 9 us for the choice, it pays from n = 20,000 on. The points of the
    grid are a factor of 1.5 apart."""
    assert calibrated(0.5, 9e-6).worth == pytest.approx(20_000, rel=0.5)
    assert calibrated(0.5, 99e-6).worth == pytest.approx(200_000, rel=0.5)
    assert calibrated(0.5, 0.0).worth < 5000


def test_a_choice_that_never_pays_is_never_made(calibrated: Callable[..., Library]) -> None:
    library = calibrated(2.0, 1e-6)
    assert library.worth == math.inf
    data = json.loads(json.dumps(library.to_json()))
    assert data["guard"] == {"size": "n", "from": None}
    again = library_of(2.0)
    assert again.worth == 5000
    again.use_json(data)
    assert again.worth == math.inf


def test_the_models_are_asked_to_correct_them_where_that_costs_little(calibrated: Callable[..., Library]) -> None:
    """The plain one is always faster here, but on a busy computer it might not be: from 1 us of 100 us on."""
    assert calibrated(2.0, 1e-6, correct=True).worth == pytest.approx(50_000, rel=0.6)
    assert calibrated(2.0, 1e-8, correct=True).worth < 1000
    assert calibrated(2.0, 1e-3, correct=True).worth == math.inf
    assert calibrated(0.5, 9e-6, correct=True).worth == calibrated(0.5, 9e-6).worth


def test_look_and_choice_cost_less_where_a_glance_suffices(calibrated: Callable[..., Library]) -> None:
    def worth(spared: str) -> float:
        return calibrated(0.5, 99e-6, Guard("n", 5000.0, "plain", spared)).worth

    assert worth("0") == calibrated(0.5, 99e-6).worth == worth("n < 100")
    assert worth("1") == worth("n > 0") == calibrated(0.5, guards.GLANCE * 99e-6).worth < worth("0")


def test_the_guard_is_stored_with_the_models(calibrated: Callable[..., Library], tmp_path: Path) -> None:
    library = calibrated(0.5, 9e-6)
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(kept.document([library])))
    data = kept.read(file)
    again = library_of(0.5)
    again.use_json(data["libraries"]["two"])
    assert again.worth == library.worth
    (part,) = report(data)[1:]
    assert f"The models are asked from n = {library.worth:,.0f} on:" in " ".join(part.tables[0].notes)
    again.use(library.models and {f"two/{name}": model for name, model in library.models.items()})
    assert again.worth == 5000, "a guard belongs to the models that it was determined with"
    file.write_text(json.dumps({**data, "libraries": {"two": {**data["libraries"]["two"], "guard": {"size": 3}}}}))
    with pytest.raises(ModelError):
        kept.read(file)


def test_a_calibration_of_an_earlier_version_has_the_default_guard(calibrated: Callable[..., Library]) -> None:
    data = {name: part for name, part in calibrated(0.5, 9e-6).to_json().items() if name != "guard"}
    library = library_of(0.5)
    library.use_json(data)
    assert library.worth == 5000
    other = library_of(0.5, Guard("2 * n", 7.0))
    other.use_json(calibrated(0.5, 9e-6).to_json())
    assert other.worth == 7, "the stored number has another unit"


def test_without_a_guard_the_models_are_always_asked() -> None:
    library = Library("free", {"n": "1..9"}, lambda n: (n,))
    assert library.worth == 0
    with pytest.raises(ValueError, match="the library free has no guard"):
        determined(library)


def test_the_threshold_has_the_least_loss() -> None:
    """Compared with the loss of every threshold between two sizes."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes, plain = rng.integers(1, 20, 30).astype(float), rng.uniform(1, 2, 30)
        chosen = plain * rng.uniform(0.5, 1.5, 30)

        def loss(at: float, sizes: Any = sizes, plain: Any = plain, chosen: Any = chosen) -> float:
            return float((np.where(sizes >= at, chosen, plain) / np.minimum(plain, chosen)).sum())

        found = threshold(sizes, plain, chosen, 5.0)
        assert loss(found) == pytest.approx(min(loss(at) for at in [0.0, *np.unique(sizes), math.inf]))
    empty = np.array([])
    assert threshold(empty, empty, empty, 5.0) == 5.0


def test_look_and_choice_are_timed_on_new_arguments() -> None:
    made: list[int] = []

    def setup(n: int) -> tuple[int]:
        made.append(n)
        return (n,)

    library = Library("l", {"n": "10..1e3"}, lambda n: (n,), setup=setup, guard=Guard("2 * n", 1.0))
    library.add(Implementation("plain", lambda n: None, ["n"]))
    costs = guards.choice_seconds(library, np.random.default_rng(1))
    assert len(costs) == guards.CASES
    assert len(made) == guards.CASES * guards.TIMES
    assert {size for size, _ in costs} == {2.0 * n for n in made}
    assert all(0 < seconds < 1 for _, seconds in costs)


def test_the_kernels_have_guards_with_defaults() -> None:
    assert [library.guard.default for library in sorts.libraries(2) if library.guard] == [
        bytes_of / size for bytes_of in (sorts.WORTH_A_LOOK, sorts.WORTH_A_LOOK_FOR_ORDER) for size in (4, 8, 4, 8)
    ]
    guard = lists.rankings.__wrapped__(2).guard
    assert guard is not None
    assert guard.default == lists.GLANCED
    relaxed = grids.relaxations.__wrapped__("float64", 2).guard
    assert relaxed is not None
    assert (relaxed.size, relaxed.default) == ("rows * columns * iterations", grids.WORTH_CHOOSING)


class Asked(Exception):
    """Says that the models were asked."""


def asks(*_: object, **__: object) -> Any:
    raise Asked


@pytest.mark.parametrize("worth", [70_000, 100_000])
def test_the_kernels_ask_from_the_calibrated_guard_on(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "best", asks)
    monkeypatch.setattr(Library, "remembered", asks)
    monkeypatch.setattr(vectors, "split_for_streams", lambda: False)  # else sort asks from `worth_moving` on
    monkeypatch.setattr(at_once, "_limits", at_once._limits.__wrapped__)  # which may be kept from before
    monkeypatch.setattr(ranking, "GLANCED", 0)  # else a glance decides
    monkeypatch.setattr(ranking, "_has_two_cpus", lambda: False)  # else lists whose links stay near are walked

    def guarded(library: Library) -> Library:
        library.models, library.worth = {"some": None}, worth  # type: ignore[dict-item]
        return library

    keys, nodes = 1000 * np.random.default_rng(0).permutation(worth), np.minimum(np.arange(worth) + 1, worth - 1)
    by_keys = {
        "sort_library": guarded(sorts._sort_library.__wrapped__("int64", 2, False, False, False)),
        "argsort_library": guarded(sorts._argsort_library.__wrapped__("int64", 2)),
    }
    for module, name in ((sorting, "sort_library"), (sorts, "sort_library"), (sorts, "argsort_library")):
        monkeypatch.setattr(module, name, lambda dtype, streams, library=by_keys[name]: library)
    ranked = guarded(lists.rankings.__wrapped__(2))
    monkeypatch.setattr(ranking._libraries(), "rankings", lambda streams: ranked)
    for call in (sorting.sort, sorting.argsort):
        call(keys[1:].copy())
        with pytest.raises(Asked):
            call(keys)
    ranking.rank_list(np.minimum(np.arange(worth - 1) + 1, worth - 2))
    with pytest.raises(Asked):
        ranking.rank_list(nodes)
    relaxed = guarded(grids.relaxations.__wrapped__("float64", 2))
    relaxed.worth = 10 * worth
    monkeypatch.setattr(grids, "relaxations", lambda kind, streams: relaxed)
    assert grids.way((worth - 1, 10), "float64", 1, None, None)["depth"] is None
    with pytest.raises(Asked):
        grids.way((worth, 10), "float64", 1, None, None)
