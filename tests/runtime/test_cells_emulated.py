"""Cells on the emulated machine: scenarios under many schedules, and pairs of operations under all up to a bound."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from support.cells_scenarios import SCENARIOS, Way, act
from support.linearizability import (
    FETCH_ADD,
    FILL,
    PURGE,
    READFE,
    READFF,
    READXX,
    READY,
    TRY,
    WAITING,
    WRITEEF,
    WRITEFF,
    WRITEXF,
    Operation,
    State,
    linearizable,
    name,
    stuck,
)
from support.sampled import examples

import smp
from smp._runtime.exploring.exploration import Exploration
from smp.errors import WaitTimeout

LIMIT = 2_000_000
"""Limit on the steps of a run, which none of these runs reaches."""


def run_with(seed: int, scenario: str) -> None:
    """Run a scenario under one schedule, with the way and the number of processors that belong to the seed."""
    way = Way(scale=3 + seed % 4, jitter=seed % 3, retries=(None, 0, 1)[seed % 5 % 3], seed=seed)
    with smp.emulated(2 + seed % 2, seed=seed, limit=LIMIT) as machine:
        SCENARIOS[scenario](machine, way)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_hold_under_many_schedules(scenario: str) -> None:
    for seed in range(SEEDS.get(scenario, 20)):
        run_with(seed, scenario)


LONG = (
    "one_producer_for_many_threads",
    "many_producers_for_one_thread",
    "every_dtype_through_every_operation",
    "a_poller_does_not_starve_the_one_that_fills",
)
SEEDS = dict.fromkeys(LONG, 10)
"""Number of seeds for scenarios that take more steps; every other scenario has 20 in an ordinary run."""


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_hold_with_a_thousand_seeds(scenario: str) -> None:
    for seed in range(1000):
        run_with(10_000 + seed, scenario)


# Pairs of operations.


OPERATIONS = sorted([*WAITING, *READY])
PAIRS = [(a, b, full) for a, b in itertools.combinations_with_replacement(OPERATIONS, 2) for full in (False, True)]
HELP = (WRITEEF, READFE, WRITEXF, PURGE, FILL)

Script = tuple[tuple[int, int], ...]


@functools.cache
def helped(a: int, b: int, begin: State) -> tuple[Script, Script, Script]:
    """Return scripts that let two operations end: the first and the second processor do one each.

    A third processor, and the second after its own operation, do further operations so that none is left waiting.
    """
    for more in range(3):
        for after in range(2):
            for ops in itertools.product(HELP, repeat=1 + more + after):
                first, second, *third = ((op, 10 * (k + 1)) for k, op in enumerate((a, b, *ops)))
                cut = len(third) - after
                scripts = ((first,), (second, *third[cut:]), tuple(third[:cut]))
                if not stuck(scripts, begin):
                    return scripts
    raise AssertionError(f"{name(a)} and {name(b)} cannot be helped")


def all_schedules(a: int, b: int, full: bool, retries: int) -> Exploration:
    """Explore all schedules with at most two preemptions.

    Every outcome, with the final state of the cell, must be that of some order of the operations.
    """
    begin = State(full, 5)
    scripts = helped(a, b, begin)

    def setup(machine: smp.Machine) -> smp.Cells:
        cells = machine.cells(1, retries=retries)
        cells.purge(0, 5)
        if full:
            cells.fill(0)
        return cells

    def program(proc: smp.Processor, cells: smp.Cells) -> list[int]:
        return [int(act(cells, op, 0, given)) for op, given in scripts[proc.rank]]

    def check(run: smp.Run, cells: smp.Cells) -> bool:
        history = [
            [Operation(op, given, result) for (op, given), result in zip(script, results, strict=True)]
            for script, results in zip(scripts, run.results, strict=True)
        ]
        return linearizable(history, begin, State(*cells.peek(0)))

    return smp.explore(program, 3, 2, setup=setup, check=check)


def check_pair(a: int, b: int, full: bool) -> None:
    found = all_schedules(a, b, full, retries=1)
    assert found.failure is None, f"{name(a)}, {name(b)}, {full=}:\n{found.failure}"
    assert found.bound == 2
    assert found.schedules > 10


SAMPLE = [
    (READFE, WRITEEF, False),
    (WRITEEF, PURGE, True),
    (FETCH_ADD, WRITEFF, True),
    (READFE, TRY + WRITEEF, True),
    (READXX, WRITEXF, False),
]


def said(of: Any) -> str:
    """Return the text for a part of a pair in the id of a test."""
    return ("empty", "full")[of] if isinstance(of, bool) else name(of)


@pytest.mark.parametrize(("a", "b", "full"), SAMPLE, ids=said)
def test_some_pairs_of_operations_are_linearizable(a: int, b: int, full: bool) -> None:
    check_pair(a, b, full)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "full"), PAIRS, ids=said)
def test_every_pair_of_operations_is_linearizable(a: int, b: int, full: bool) -> None:
    check_pair(a, b, full)


def test_the_scripts_of_a_pair_contain_it_and_cannot_get_stuck() -> None:
    """With help, no pair can be left waiting; without help, more than 50 of them can."""
    for a, b, full in PAIRS:
        scripts = helped(a, b, State(full, 5))
        assert (scripts[0], scripts[1][0][0]) == (((a, 10),), b)
        assert not stuck(scripts, State(full, 5))
    assert len(PAIRS) == 2 * 15 * 16 // 2
    assert sum(stuck((((a, 10),), ((b, 20),)), State(full, 5)) for a, b, full in PAIRS) > 50


@pytest.mark.parametrize("op", WAITING, ids=said)
def test_a_wait_with_a_deadline_is_served_or_expires_under_all_schedules(op: int) -> None:
    """It never does both. The cell is then in the state that this end implies, and no waiter is left in a queue."""
    full = op == WRITEEF
    change = READFE if full else WRITEEF

    def setup(machine: smp.Machine) -> smp.Cells:
        cells = machine.cells(1, full=full, retries=0)
        return cells

    def program(proc: smp.Processor, cells: smp.Cells) -> Any:
        if proc.rank == 1:
            return act(cells, change, 0, 7)
        given = () if op in (READFE, READFF) else (5,)
        try:
            return getattr(cells, name(op))(0, *given, timeout=1e-9), "served"
        except WaitTimeout:
            return None, "expired"

    def check(run: smp.Run, cells: smp.Cells) -> bool:
        (value, how), changed = run.results
        ends.add(how)
        after = {READFE: (False, 7), READFF: (True, 7), WRITEEF: (True, 5), WRITEFF: (True, 5), FETCH_ADD: (True, 12)}
        assert changed == 0
        if how == "served":
            assert value == {READFE: 7, READFF: 7, FETCH_ADD: 7}.get(op)
        left = after[op] if how == "served" else (not full, 0 if full else 7)
        assert cells.peek(0) == left
        assert cells.try_writeef(0, 1) is not left[0]
        return bool(cells.peek(0) == (True, left[1] if left[0] else 1))  # and no waiter that had given up is served

    ends: set[str] = set()
    found = smp.explore(program, 2, 2, setup=setup, check=check)
    assert found.failure is None, str(found.failure)
    assert ends == {"served", "expired"}


def test_start_when_waits_until_all_cells_are_full_at_once() -> None:
    """The two cells are full alternately; only at the end are both full."""

    def program(proc: smp.Processor, cells: smp.Cells, words: smp.GlobalArray) -> int:
        if proc.rank == 1:
            for k in range(40):
                cells.readfe(k % 2)
                cells.writeef(1 - k % 2, 1)
            words.view[0] = 1
            cells.writeef(1, 1)
            return 0
        with proc.streams(1) as pool:
            return int(pool.start_when(cells, [0, 1], lambda: words.view[0]).result())

    for seed in range(examples(250)):
        with smp.emulated(2, seed=seed, limit=LIMIT) as machine:
            cells, words = machine.cells(2, retries=0), machine.zeros(1, np.int64)
            cells.fill(0)
            assert machine.run(program, cells, words).results[0] == 1, f"{seed=}"
