"""Test whether perturbation tuning names the bottleneck on this computer, in programs in which it is known.

    python benchmarks/perturb_host.py [--only planted|nulls|gains] [--replicates 3] [--runs 1] [--treatment 100%]
                                      [--sweeps 4] [--seed 0] [--json raw.json]

planted    20 programs of 6 places, compiled loops of known lengths: functions of one process; phases between barriers,
           locks, pipelines and supersteps on two processors, and on four that take turns. Halving the work in one place
           gains at least 1.5 times as much as halving it in any other. That place is named if it is the first of
           ``trials.gains()``, and significant. The gains of halving are found exactly, on an emulated machine with as
           many processors. Places where delays cost nothing there, because the processor waits for another anyway, are
           null factors. Such places are not null while other programs take CPUs away, because a delay then takes time
           from the processor that the others wait for.
nulls      all programs, repeatedly, with treatments of no length: any effect that is called significant is an error.
gains      four of the programs, alternately as they are and with half the work in the named place: the actual gain.

The noise is that of the computer, so run it next to other work, too. The raw values of all runs go to the JSON file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import smp
from smp.perturb import Trials, factor, screen
from smp.perturb.analysis.versions import unperturbed
from smp.perturb.experiments.runners import runner_of

QUANTUM = 20_000  # numbers in a unit of work, which takes some 30 us
SIZES = (2, 4)
PLACES = tuple("abcdef")
NOTHING = 1e-3  # share of the time below which an effect is null
Quanta = Mapping[str, int]
"""Work in each place, in the order in which the places are passed."""
Machines = dict[int, smp.Machine | None]
"""Machines by number of processors; None for functions of this process."""


@smp.local
def chain(a: Any) -> float:
    """Each addition waits for the one before."""
    s = 0.0
    for k in range(a.size):
        s = s * 0.5 + a[k]
    return s


def work(quanta: Quanta) -> None:
    numbers = np.ones(QUANTUM)
    for place, amount in quanta.items():
        with factor(place):
            for _ in range(amount):
                chain(numbers)


# The programs: their shared data, the number of rounds, and the work of each round.


def calls(*groups: tuple[int, Quanta]) -> None:
    """Call groups of functions, one function after another, each group the given number of times."""
    for rounds, quanta in groups:
        for _ in range(rounds):
            work(quanta)


def phases(proc: smp.Processor, _: None, rounds: int, *parts: tuple[Quanta, ...]) -> None:
    """Do each processor's own work in each phase; then all meet at a barrier."""
    for _round in range(rounds):
        for part in parts:
            work(part[proc.rank % len(part)])
            proc.barrier()


def locks(proc: smp.Processor, lock: smp.Cells, rounds: int, outside: tuple[Quanta, ...], inside: Quanta) -> None:
    """Do each processor's own work, and work that only one processor does at a time."""
    for _ in range(rounds):
        work(outside[proc.rank % len(outside)])
        lock.readfe(0)
        work(inside)
        lock.writeef(0, 1)


def pipeline(proc: smp.Processor, belt: smp.Cells, rounds: int, *stages: Quanta) -> None:
    """Work on each item after the processor before has handed it on in a cell."""
    for item in range(rounds):
        if proc.rank > 0:
            belt.readfe(proc.rank - 1)
        work(stages[proc.rank])
        if proc.rank < proc.size - 1:
            belt.writeef(proc.rank, item)


def supersteps(
    proc: smp.Processor, words: smp.GlobalArray, rounds: int, before: tuple[Quanta, ...], after: tuple[Quanta, ...]
) -> None:
    """Do work before the words of the other processors are copied in, and work with them."""
    for _ in range(rounds):
        with proc.superstep("round") as step:
            work(before[proc.rank % len(before)])
            read = step.copy_in(words, (proc.rank + 1) % proc.size)
            step.compute()
            work(after[proc.rank % len(after)])
            step.copy_out(words, proc.rank, read + 1)


SHARED: dict[Callable[..., None], Callable[[smp.Machine], Any]] = {
    phases: lambda machine: None,
    locks: lambda machine: machine.cells(1, full=True),
    pipeline: lambda machine: machine.cells(machine.size),
    supersteps: lambda machine: machine.zeros(machine.size, np.int64),
}


class Case(NamedTuple):
    """A program with a planted bottleneck."""

    planted: str
    processors: int
    program: Callable[..., None]
    work: tuple[Any, ...]
    """Arguments of the program after its shared data; every number of quanta is even."""


CASES = {
    "six functions": Case("c", 0, calls, ((8, {"a": 12, "b": 20, "c": 46, "d": 28, "e": 8, "f": 6}),)),
    "five alike": Case("f", 0, calls, ((8, {"a": 18, "b": 18, "c": 18, "d": 18, "e": 18, "f": 36}),)),
    "many calls beside few": Case(
        "b", 0, calls, ((2, {"a": 100, "b": 200}), (60, {"c": 2, "d": 4}), (20, {"e": 2, "f": 6}))
    ),
    "few calls beside many": Case(
        "e", 0, calls, ((1, {"a": 240, "b": 60}), (100, {"c": 2, "e": 4}), (3, {"d": 30, "f": 20}))
    ),
    "two long ones": Case("a", 0, calls, ((8, {"a": 60, "b": 40, "c": 6, "d": 6, "e": 4, "f": 4}),)),
    "unequal processors": Case(
        "d", 2, phases, (8, ({"a": 20}, {"b": 10}), ({"c": 12}, {"d": 50}), ({"e": 26}, {"f": 12}))
    ),
    "the longest place waits": Case(
        "c", 2, phases, (8, ({"a": 44}, {"b": 24, "c": 48}), ({"d": 20, "e": 10}, {"f": 8}))
    ),
    "a serial part": Case("a", 2, phases, (8, ({"a": 40}, {}), ({"b": 24, "c": 16},), ({"d": 20, "e": 10, "f": 6},))),
    "equal processors": Case("e", 2, phases, (8, ({"a": 22, "b": 10},), ({"c": 14, "d": 8},), ({"e": 44, "f": 16},))),
    "many barriers": Case("b", 2, phases, (40, ({"a": 4}, {"b": 12}), ({"c": 6}, {"d": 2}), ({"e": 4, "f": 2},))),
    "a lock that is always held": Case("c", 2, locks, (20, ({"a": 6, "b": 4}, {"d": 4, "e": 6}), {"c": 18, "f": 6})),
    "a lock that is seldom held": Case(
        "a", 2, locks, (10, ({"a": 50, "b": 24}, {"a": 50, "c": 10, "d": 14}), {"e": 6, "f": 4})
    ),
    "a lock and a slow processor": Case(
        "d", 2, locks, (10, ({"a": 16, "b": 8}, {"c": 20, "d": 56}), {"e": 14, "f": 6})
    ),
    "a slow first stage": Case("b", 2, pipeline, (16, {"a": 16, "b": 38, "c": 6}, {"d": 10, "e": 6, "f": 8})),
    "a slow second stage": Case("f", 2, pipeline, (16, {"a": 16, "b": 8}, {"c": 20, "d": 4, "e": 4, "f": 36})),
    "a stage of one place": Case("a", 2, pipeline, (16, {"a": 60}, {"b": 8, "c": 10, "d": 8, "e": 6, "f": 4})),
    "supersteps": Case("c", 2, supersteps, (12, ({"a": 24, "b": 10},), ({"c": 40, "d": 8}, {"e": 4, "f": 6}))),
    "supersteps of unequal halves": Case(
        "a", 2, supersteps, (12, ({"a": 42, "b": 6}, {"c": 14}), ({"d": 10}, {"e": 22, "f": 6}))
    ),
    "four take turns": Case("d", 4, phases, (8, ({"a": 8, "b": 6, "c": 4},), ({"d": 20, "e": 10, "f": 4},))),
    "four at a lock": Case("e", 4, locks, (10, ({"a": 4, "b": 2}, {"c": 2, "d": 4}), {"e": 14, "f": 6})),
}


# Known gains and effects.


def halved(work: Any, place: str) -> Any:
    """Return the work of a program with the work in one place halved."""
    if isinstance(work, Mapping):
        return {name: amount // 2 if name == place else amount for name, amount in work.items()}
    return tuple(halved(part, place) for part in work) if isinstance(work, tuple) else work


def bound(case: Case, machine: smp.Machine | None) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return the program, and its arguments on a machine."""
    if machine is None:
        return case.program, case.work
    if case.processors:
        return case.program, (SHARED[case.program](machine), *case.work)
    return lambda _, *work: case.program(*work), case.work


def took(case: Case, machine: smp.Machine | None) -> float:
    program, arguments = bound(case, machine)
    return runner_of(program, arguments, machine).trial({}).time


class How(NamedTuple):
    """Options of a screening, as for `screen`."""

    treatment: str = "100%"
    replicates: int = 3
    runs: int = 1
    seed: int = 0


def screened(case: Case, machine: smp.Machine | None, how: How) -> Trials:
    program, arguments = bound(case, machine)
    return screen(program, "2^(6-2)", factors=PLACES, arguments=arguments, machine=machine, **how._asdict())


class Known(NamedTuple):
    """Exact values if each processor has a CPU to itself: shares of the time, by place."""

    gains: dict[str, float]
    """Gain of halving the work in a place."""
    effects: dict[str, float]
    """Main effects of delays."""


def known(case: Case, treatment: str) -> Known:
    with smp.emulated(max(case.processors, 1), schedule="clock") as machine:
        whole = took(case, machine)
        gains = {place: 1 - took(case._replace(work=halved(case.work, place)), machine) / whole for place in PLACES}
        found = screened(case, machine, How(treatment, replicates=1)).analyse()
    return Known(gains, {place: found.effect(place) / whole for place in PLACES})


# Measurements.


@contextlib.contextmanager
def machines() -> Iterator[Machines]:
    """Open the machines of this computer."""
    with contextlib.ExitStack() as stack:
        yield {0: None, **{size: stack.enter_context(smp.host(size)) for size in SIZES}}


def planted(on: Machines, how: How, _: argparse.Namespace) -> list[dict[str, Any]]:
    raw, named, waiting, called = [], 0, 0, 0
    print("Per cent of the time that halving the work in a place saves: exactly, for the planted place and the next;")
    print("as found, for the first and the second")
    print(f"{'program':<30}{'ms':>6}{'S/ms':>7}  planted  brings  next   first  brings  next")
    for name, case in CASES.items():
        exact = known(case, how.treatment)
        first, second = sorted(exact.gains, key=lambda place: -exact.gains[place])[:2]
        if first != case.planted or exact.gains[first] < 1.5 * exact.gains[second]:
            raise SystemExit(f"{name}: {case.planted} is planted, by {exact.gains}")
        trials = screened(case, on[case.processors], how)
        found, rows = trials.analyse(), trials.gains()
        right = rows[0].factor == case.planted and rows[0].significant
        named += right
        nothing = [place for place in PLACES if abs(exact.effects[place]) < NOTHING]
        waiting, called = waiting + len(nothing), called + sum(found.is_significant(place) for place in nothing)
        bare = unperturbed(found)
        halves = [50 * row.gain / bare for row in rows[:2]]
        print(
            f"{name:<30}{1e3 * bare:6.1f}{1e3 * found.uncertainty:7.2f}"
            f"  {first:>7}{100 * exact.gains[first]:8.1f}{100 * exact.gains[second]:6.1f}"
            f"   {rows[0].factor:>5}{halves[0]:8.1f}{halves[1]:6.1f}  {'' if right else 'MISSED'}",
            flush=True,
        )
        raw.append({"case": name, "planted": first, "known": exact._asdict(), "trials": trials.to_json()})
    print(f"named: {named} of {len(CASES)}")
    print(f"places where delays cost nothing, because the processor waits: {called} of {waiting} called significant")
    return raw


def nulls(on: Machines, how: How, options: argparse.Namespace) -> list[dict[str, Any]]:
    raw, effects, called, mains = [], 0, 0, 0
    for sweep in range(options.sweeps):
        for name, case in CASES.items():
            trials = screened(case, on[case.processors], how._replace(treatment="0ns", seed=how.seed + sweep))
            found = trials.analyse()
            effects += len(found.effects)
            called += int(found.significant.sum())
            mains += sum(found.is_significant(place) for place in PLACES)
            raw.append({"case": name, "sweep": sweep, "trials": trials.to_json()})
        print(
            f"{effects} null effects: {called} called significant, {100 * called / effects:.2f}%; of {len(raw) * 6} "
            f"main effects {mains}",
            flush=True,
        )
    return raw


def gains(on: Machines, how: How, options: argparse.Namespace) -> list[dict[str, Any]]:
    raw = []
    print(f"{'program':<30}  place  predicted   measured")
    for name in ("six functions", "the longest place waits", "a lock that is always held", "a slow first stage"):
        case = CASES[name]
        machine = on[case.processors]
        trials = screened(case, machine, how)
        best = trials.gains()[0]
        faster = case._replace(work=halved(case.work, best.factor))
        pairs = np.array([[took(one, machine) for one in (case, faster)] for _ in range(options.pairs)])
        shares = 1 - pairs[:, 1] / pairs[:, 0]
        low, high = np.quantile(shares, [0.25, 0.75])
        predicted = 50 * best.gain / unperturbed(trials.analyse())
        print(
            f"{name:<30}{best.factor:>7}{predicted:10.1f}%{100 * np.median(shares):10.1f}%"
            f"   half of {len(pairs)} pairs: {100 * low:.1f} to {100 * high:.1f}",
            flush=True,
        )
        raw.append({"case": name, "place": best.factor, "pairs": pairs.tolist(), "trials": trials.to_json()})
    return raw


def main() -> None:
    parts = {"planted": planted, "nulls": nulls, "gains": gains}
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--only", choices=parts)
    line.add_argument("--replicates", type=int, default=3)
    line.add_argument("--runs", type=int, default=1)
    line.add_argument("--treatment", default="100%", help="treatment of all places (default: 100%%)")
    line.add_argument("--sweeps", type=int, default=4, help="sweeps over all programs, of 15 null effects each")
    line.add_argument("--pairs", type=int, default=21, help="pairs of runs, with the work and with half of it")
    line.add_argument("--seed", type=int, default=0)
    line.add_argument("--json", type=Path, help="file to write the raw values to")
    options = line.parse_args()
    how = How(options.treatment, options.replicates, options.runs, options.seed)
    raw = {}
    with machines() as on:
        for name, part in parts.items():
            if options.only in (None, name):
                began = time.perf_counter()
                raw[name] = part(on, how, options)
                print(f"{time.perf_counter() - began:.0f} s\n", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(raw))


if __name__ == "__main__":
    main()
