"""The three changes of a quick writeef, under all schedules: each order of them that is wrong is found."""

from collections.abc import Callable
from typing import Any

import pytest

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.loops.atomics import store_release
from smp._runtime.protocols import cell
from smp._runtime.protocols.cell import FULL, LOCKED, QUEUES, VERSION, WRITEEF
from smp.compiled import compare_exchange, load

Program = Callable[[smp.Processor, smp.Cells], Any]
Check = Callable[[list[Any], tuple[bool, int]], bool]
Quick = Callable[[Any, int, int, int], tuple[bool, int]]
right: Quick = cell.quick
VALUES = (7, 8)


def one_value(proc: smp.Processor, cells: smp.Cells) -> Any:
    return cells.writeef(0, 7) if proc.rank == 0 else cells.readfe(0)


def the_value_is_read(results: list[Any], left: tuple[bool, int]) -> bool:
    return results[1] == 7 and left == (False, 7)


def two_writers(proc: smp.Processor, cells: smp.Cells) -> Any:
    cells.writeef(0, VALUES[proc.rank])
    return cells.readfe(0)


def each_value_is_read_once(results: list[Any], left: tuple[bool, int]) -> bool:
    return sorted(results) == [7, 8] and not left[0]


def looks(proc: smp.Processor, cells: smp.Cells) -> Any:
    return cells.writeef(0, 7) if proc.rank == 0 else (cells.peek(0), cells.try_readff(0), cells.readxx(0))


def a_look_sees_before_or_after(results: list[Any], left: tuple[bool, int]) -> bool:
    """The three looks of one processor come in their order."""
    before = (False, 0)
    peeked, (was_full, tried), last = results[1]
    stages = (peeked == (True, 7), was_full, last == 7)
    return (
        peeked in (before, (True, 7))
        and (not was_full or tried == 7)
        and last in (0, 7)
        and list(stages) == sorted(stages)
        and left == (True, 7)
    )


PROGRAMS: dict[str, tuple[Program, Check]] = {
    "one value": (one_value, the_value_is_read),
    "two writers": (two_writers, each_value_is_read_once),
    "looks": (looks, a_look_sees_before_or_after),
}


def state_before_value(words: Any, k: int, op: int, bits: int) -> tuple[bool, int]:
    """Lock, then store the state and the value in the wrong order."""
    word = load(words, k)
    if op != WRITEEF or word & (QUEUES | LOCKED | FULL) != 0:
        return right(words, k, op, bits)
    if compare_exchange(words, k, word, word + LOCKED) != word:
        return False, 0
    store_release(words, k, word + FULL + VERSION)
    store_release(words, k + 1, bits)
    return True, 0


def value_without_lock(words: Any, k: int, op: int, bits: int) -> tuple[bool, int]:
    """Store the value, then exchange the state."""
    word = load(words, k)
    if op != WRITEEF or word & (QUEUES | LOCKED | FULL) != 0:
        return right(words, k, op, bits)
    store_release(words, k + 1, bits)
    return compare_exchange(words, k, word, word + FULL + VERSION) == word, 0


def state_without_lock(words: Any, k: int, op: int, bits: int) -> tuple[bool, int]:
    """Exchange the state, then store the value."""
    word = load(words, k)
    if op != WRITEEF or word & (QUEUES | LOCKED | FULL) != 0:
        return right(words, k, op, bits)
    if compare_exchange(words, k, word, word + FULL + VERSION) != word:
        return False, 0
    store_release(words, k + 1, bits)
    return True, 0


def lock_by_a_store(words: Any, k: int, op: int, bits: int) -> tuple[bool, int]:
    """Take the lock by a load and a store."""
    word = load(words, k)
    if op != WRITEEF or word & (QUEUES | LOCKED | FULL) != 0:
        return right(words, k, op, bits)
    store_release(words, k, word + LOCKED)
    store_release(words, k + 1, bits)
    store_release(words, k, word + FULL + VERSION)
    return True, 0


WRONG: dict[str, tuple[Quick, str]] = {
    "the state before the value": (state_before_value, "one value"),
    "the state before the value, looked at": (state_before_value, "looks"),
    "the value without the lock": (value_without_lock, "two writers"),
    "the state without the lock": (state_without_lock, "one value"),
    "the lock by a store": (lock_by_a_store, "two writers"),
}


def explored(name: str, retries: int, bound: int | None) -> Exploration:
    program, check = PROGRAMS[name]
    return smp.explore(
        program,
        2,
        bound,
        setup=lambda machine: machine.cells(1, retries=retries),
        check=lambda run, cells: check(run.results, cells.peek(0)),
        reduction=bound is None,
    )


@pytest.mark.parametrize("retries", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_quick_writeef_is_one_change_under_all_schedules(name: str, retries: int) -> None:
    found = explored(name, retries, 3)
    assert found.failure is None, str(found)
    assert found.schedules > 10


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_quick_writeef_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    wrong, name = WRONG[fault]
    monkeypatch.setattr(cell, "quick", wrong)
    assert explored(name, 0, 3).failure is not None


def test_a_quick_writeef_makes_four_steps() -> None:
    with smp.emulated(1, trace=True) as machine:
        machine.run(lambda proc, cells: cells.writeef(0, 1), machine.cells(1))
        steps = [primitive for _, _, primitive, where in machine.trace if "test_quick_writes" in where]
    assert steps == ["load", "compare_exchange", "store_release", "store_release"]
