"""The streams take the same turns whether a heap or a look at all of them finds the earliest."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp._runtime.emulated.schedules import Clock
from smp.compiled import fetch_add, load, pause
from smp.errors import DeadlockError, WaitTimeout

WORDS, CELLS = 2, 2
Act = tuple[str, int, int]
ACTS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, WORDS - 1), st.integers(1, 6)),
    st.tuples(st.just("spin"), st.integers(0, WORDS - 1), st.integers(1, 4)),
    st.tuples(st.just("write"), st.integers(0, CELLS - 1), st.integers(0, 400)),
    st.tuples(st.just("read"), st.integers(0, CELLS - 1), st.integers(0, 400)),
    st.tuples(st.just("start"), st.integers(0, WORDS - 1), st.integers(1, 3)),
)
PROGRAMS = st.lists(st.lists(ACTS, max_size=6), min_size=1, max_size=6)


def add(words: Any, i: int, times: int) -> None:
    for _ in range(times):
        fetch_add(words.view, i, 1)


def program(proc: smp.Processor, acts: list[list[Act]], words: Any, cells: Any) -> list[int]:
    """Carry out a processor's acts; a number is a limit of rounds, or a time-out in ns."""
    seen = []
    for what, i, number in acts[proc.rank]:
        if what == "add":
            add(words, i, number)
        elif what == "start":
            proc.team.start(add, words, i, number)
        elif what == "spin":
            rounds = 0
            while load(words.view, i) < number and rounds < 20:
                pause()
                rounds += 1
            seen.append(rounds)
        else:
            call = cells.writeef if what == "write" else cells.readfe
            args = (i, number) if what == "write" else (i,)
            try:
                call(*args, timeout=number * 1e-9 if number else None)
                seen.append(-1)
            except WaitTimeout:
                seen.append(-2)
    return seen


def traced(acts: list[list[Act]]) -> tuple[Any, ...]:
    with smp.emulated(len(acts), streams=2, schedule="clock", trace=True) as machine:
        try:
            found: Any = machine.run(program, acts, machine.zeros(WORDS, int), machine.cells(CELLS)).results
        except DeadlockError as error:
            found = str(error)
        return found, [step[:3] for step in machine.trace]


def test_a_run_with_streams_is_the_same_on_all_repeats() -> None:
    acts = [[("start", 0, 1)] * 3, [("start", 1, 2), ("add", 0, 1), ("start", 0, 2)]]
    first = traced(acts)
    assert all(traced(acts) == first for _ in range(31))


@settings(max_examples=examples(150), deadline=None)
@given(PROGRAMS)
def test_a_heap_finds_the_same_streams_as_a_look_at_all(acts: list[list[Act]]) -> None:
    by_heap = traced(acts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Clock, "by_time", False)
        assert traced(acts) == by_heap
