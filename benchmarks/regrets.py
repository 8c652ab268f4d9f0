"""The regret of public calls: the time of "auto" over that of the fastest named form, less 1.

    case      keys, a list or a grid; rounds time the public call with "auto", and twice with each named form, in random
              order; the second time is that of a choice which is right for certain, and which takes no time.
              For programs that relax a grid, "auto" is the layout "program", and the forms are the other layouts
    visits    two for each case, at least a minute apart, because all rounds of a visit can lie in one slow moment
    wrong     in both visits, the interval of auto / some form lies above 1.02
    worst     the largest regret of a case, in that of its two visits in which it is smaller
    oracle    the form that is fastest in three rounds of the other visit: a choice by measuring, and still not perfect
    single    always the same form, the best one of those that apply in every case

Auto, oracle and single forms are compared with the same fastest forms, the last two by their second times.  So the
oracle's regret is a floor: what noise leaves of a choice that needs no model.  `choices.py` runs this.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from smp import Machine
from smp._runtime.host.looking import Looker
from smp.kernels import argsort, rank_list, relax, sort
from smp.kernels.grids.layout_choice import sharings
from smp.kernels.in_process import streams_for
from smp.kernels.lists.choice import shuffled
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.data import SHAPES, sort_data
from smp.selection.rounds import TOLERANCE, in_rounds, interval, ratios

AUTO, AGAIN = "auto", "again: "
"""The public call that chooses, and what the second time of a form is called."""
TRIED = 3
"""Rounds that the oracle measures."""
KEYS = {
    "narrow": ("uniform", 10),
    "wide": ("uniform", 64),
    "sorted": ("uniform", 64),
    "nearly sorted": ("nearly sorted", 64),
    "few distinct": ("few", 16),
}
"""Kinds of keys: a shape and the bits of the range, see `smp.kernels.sorting.data`."""
TYPES = "int32", "int64", "uint32", "float32", "float64"
LISTS = {"random": (0.0, 1.0), "in order": (1.2, 1.0), "random runs": (0.5, 1.0), "random nearby": (0.0, 0.5)}
"""Kinds of lists: exponents of the lengths of runs and windows, see `shuffled`."""
ASPECTS = 0.25, 1.0, 4.0
"""Rows over columns of a grid."""
LAYOUTS = "relax, layouts"
"""What `relax` is called here if it runs programs."""
Calls = dict[str, Callable[[], Any]]
Times = dict[str, list[float]]
Show = Callable[[float, str], None]


@dataclass(frozen=True)
class Problem:
    """The arguments of a call, which are made again for each visit."""

    function: str
    text: str
    calls: Callable[[], Calls]


@dataclass
class Visited:
    """A problem with the times of each visit."""

    problem: Problem
    visits: list[Times] = field(default_factory=list)
    at: float = 0.0

    def regrets(self, name: str) -> list[float]:
        """Return the regret of a form or of "auto" in each visit."""
        return [lost(times, name) for times in self.visits]

    def is_wrong(self, names: Sequence[str]) -> bool:
        """Return True if in each visit the form named for it is slower than another beyond 2% and beyond the noise."""
        return all(
            any(interval(times, name, other)[0] > 1 + TOLERANCE for other in named(times) if again(other) != name)
            for times, name in zip(self.visits, names, strict=True)
        )

    def oracle(self) -> list[str]:
        """Return the oracle's form for each of two visits, by the first rounds of the other visit."""
        return [fastest({name: taken[:TRIED] for name, taken in times.items()}) for times in reversed(self.visits)]


def named(times: Times) -> list[str]:
    """Return the named forms, without their second times."""
    return [name for name in times if name != AUTO and not name.startswith(AGAIN)]


def again(name: str) -> str:
    """Return the name of a form's second time."""
    return AGAIN + name


def ratio(times: Times, one: str, other: str) -> float:
    """Return the median over the rounds of one form's time over another's.

    Of two middle values, it is the lower one: forms that were far slower than "auto" have two rounds, and one slow
    moment in them must not look like a regret.
    """
    ordered = sorted(ratios(times, one, other))
    return ordered[(len(ordered) - 1) // 2]


def lost(times: Times, name: str) -> float:
    """Return the fraction by which a form takes longer than the fastest named form; 0 if it is the fastest."""
    return max(0.0, max(ratio(times, name, form) for form in named(times)) - 1)


def fastest(times: Times) -> str:
    """Return the named form with the smallest time, by the median of the ratios to "auto"."""
    return min(named(times), key=lambda form: ratio(times, form, AUTO))


def problems(
    section: str, cases: int, sizes: tuple[float, float], rng: np.random.Generator, machine: Machine
) -> Iterator[Problem]:
    """Yield problems of random sizes, as many for each kind of data; programs run on the machine."""

    def size(most: float) -> int:
        return int(np.exp(rng.uniform(*np.log(np.minimum(sizes, most)))))

    for case in range(cases):
        if section == "sort":
            for kind in TYPES:
                for name in KEYS:
                    yield _of_keys("sort", kind, name, size(1e9), case)
                    yield _of_keys("argsort", kind, name, size(1e9), case)
        elif section == "lists":
            for name in LISTS:
                for width in (4, 8):
                    yield _of_nodes(name, size(1e9), width, case)
        else:
            for kind in ("float64", "float32"):
                for iterations in (1, 10, 100):
                    yield _of_grid(kind, size(1e7), float(rng.choice(ASPECTS)), iterations, case)
                    yield _of_grid(kind, size(1e7), float(rng.choice(ASPECTS)), iterations, case, machine)


def _of_keys(function: str, kind: str, name: str, n: int, seed: int) -> Problem:
    shape, span = KEYS[name]
    streams = streams_for(None)

    def calls() -> Calls:
        keys = sort_data(np.dtype(kind), n, SHAPES.index(shape), span, seed)
        if name == "sorted":
            keys.sort()
        if function == "argsort":
            ordered: Calls = {AUTO: partial(argsort, keys), "numpy": partial(argsort, keys, algorithm="numpy")}
            for form in ("packed", "partition", *["values"] * (name == "few distinct")):
                for threads in sorted({1, streams}):
                    ordered[_threaded(form, threads)] = partial(argsort, keys, algorithm=form, threads=threads)
            return ordered
        made: Calls = {AUTO: partial(sort, keys), "numpy": partial(sort, keys, algorithm="numpy")}
        fast = ["vectors"] * vectors.has_vectors() + ["halves", "partition"] * (not vectors.beat_numpy())
        for form in [*fast, *["counting"] * (name == "narrow" and kind[0] != "f")]:
            for threads in sorted({1, streams}):
                made[_threaded(form, threads)] = partial(sort, keys, algorithm=form, threads=threads)
        return made

    return Problem(function, f"{n:,} {kind} {name}", calls)


def _of_nodes(name: str, n: int, width: int, seed: int) -> Problem:
    def calls() -> Calls:
        nodes = shuffled(n, width, *LISTS[name], seed)
        made: Calls = {AUTO: partial(rank_list, nodes), "serial": partial(rank_list, nodes, algorithm="serial")}
        for threads in sorted({1, streams_for(None)}):
            made[_threaded("fast", threads)] = partial(rank_list, nodes, algorithm="fast", threads=threads)
        return made

    return Problem("rank_list", f"{n:,} nodes of {width} bytes {name}", calls)


def _of_grid(
    kind: str, cells: int, aspect: float, iterations: int, seed: int, machine: Machine | None = None
) -> Problem:
    rows = max(8, round((cells * aspect) ** 0.5))
    columns = max(8, cells // rows)

    def calls() -> Calls:
        grid = np.random.default_rng(seed).random((rows, columns)).astype(kind)
        call = partial(relax, grid, iterations=iterations)
        if machine is not None:
            layouts = sharings(machine.size)
            call = partial(call, machine=machine)
            return {AUTO: partial(call, layout="program")} | {n: partial(call, **how) for n, how in layouts.items()}
        made: Calls = {AUTO: call}
        for depth in (1, 2, 4, 8, 16):
            for threads in sorted({1, streams_for(None)}):
                if depth <= iterations:
                    made[_threaded(f"depth {depth}", threads)] = partial(call, depth=depth, threads=threads)
        return made

    name = "relax" if machine is None else LAYOUTS
    return Problem(name, f"{rows:,} x {columns:,} {kind}, {iterations} iterations", calls)


def _threaded(form: str, threads: int) -> str:
    return f"{form}, {threads} thread{'s' * (threads > 1)}"


def visit_all(found: list[Visited], apart: float, seed: int, show: Show) -> str:
    """Visit all problems, and then all of them again, each at least so many seconds after its first visit.

    The times go into ``found`` one by one, so that they are not lost on Ctrl-C.  Returns a text on timings that were
    repeated because the host had moved the CPUs; it is empty if there are none.
    """
    rng, looker = np.random.default_rng(seed), Looker()
    for round_ in range(2):
        for k, each in enumerate(found):
            share = (round_ * len(found) + k) / (2 * len(found))
            while round_ and (wait := each.at + apart - time.monotonic()) > 0:
                show(share, f"second visit in {wait:.0f} s")
                time.sleep(min(wait, 1.0))
            show(share, f"{each.problem.function}: {each.problem.text}")
            calls = each.problem.calls()
            for call in calls.values():  # the first call of a form may compile it
                call()
            twice = calls | {again(name): call for name, call in calls.items() if name != AUTO}
            each.visits.append(in_rounds(twice, AUTO, rng, looker))
            each.at = time.monotonic()
    return looker.said()


def print_regrets(function: str, found: Sequence[Visited]) -> None:
    """Print the regret of "auto", the oracle and single forms over the cases of a function."""
    cases = [each for each in found if each.problem.function == function and each.visits]
    if not cases:
        return
    twice = [each for each in cases if len(each.visits) == 2]
    once = f", of which {len(cases) - len(twice)} were visited once" if len(twice) < len(cases) else ""
    print(f"\n{function}: {len(cases)} cases{once}")
    print(f"  {'choice':<48}{'mean regret':>14}{'worst twice':>14}{'wrong twice':>14}")
    _line(AUTO, cases, [AUTO] * 2)
    if twice:
        _line(f"oracle of {TRIED} rounds (the floor)", twice, None)
        floor = np.mean([_mean(each, list(map(again, each.oracle()))) for each in twice])
        above = np.mean([_mean(each, [AUTO] * 2) for each in twice]) - floor
    always = [n for n in named(cases[0].visits[0]) if all(n in v for each in cases for v in each.visits)]
    if always:
        best = min(always, key=lambda name: np.mean([np.mean(each.regrets(name)) for each in cases]))
        _line(f"always {best} (the best single form)", cases, [again(best)] * 2)
    if twice:
        print(f"  mean regret of auto above the floor: {above:.1%}")
    for each in sorted(cases, key=lambda each: -min(each.regrets(AUTO)))[:5]:
        if (least := min(each.regrets(AUTO))) > TOLERANCE:
            visits = " and ".join(f"{lost(times, AUTO):.1%} over {fastest(times)}" for times in each.visits)
            print(f"    {least:>6.1%}  {each.problem.text}: {visits}")


def _line(text: str, cases: Sequence[Visited], names: list[str] | None) -> None:
    """Print a line: the mean over visits, the worst case by its better visit, and the share that is wrong in both."""
    chosen = [names or list(map(again, each.oracle())) for each in cases]
    both = [each.is_wrong(n) for each, n in zip(cases, chosen, strict=True) if len(each.visits) == 2]
    worst = max(min(map(lost, each.visits, n)) for each, n in zip(cases, chosen, strict=True))
    mean = np.mean([_mean(each, n) for each, n in zip(cases, chosen, strict=True)])
    print(
        f"  {text:<48}{mean:>14.1%}{worst:>14.1%}" + (f"{np.mean(both):>14.1%}" if both else f"{'-':>14}"), flush=True
    )


def _mean(each: Visited, names: Sequence[str]) -> float:
    return float(np.mean([lost(times, name) for times, name in zip(each.visits, names, strict=False)]))
