"""Random SPMD programs for an emulated machine, in which any place can really be made faster.

    for each round                                    one of the phases, of three processors
        phase   places ... (barrier)                  0  [a    ][lock [c]     ]     [d][d]   ‖
        phase   places ... (barrier)                  1  [a ]   [     lock [c]]     [d]      ‖
        ...                                           2         [b        ]         [d][d][d]‖ barrier

A place is ``with factor(name): burn(ns)``: virtual time passes, nothing else. The kinds of places are

    apart     each processor has its own passes, or only some have any
    locked    one processor at a time, under one of the locks: a cell that is full while no processor holds it
    pool      chunks, each taken by a processor that is free
    chain     each processor waits for the one before it, and hands on to the next by a cell
    stage     one processor waits before each pass for the stage before it in the phase, and hands on to the next

Work is unequal: passes differ in length, and in places of the kind ``apart`` processors differ in the number of passes.
The length of each pass varies by up to 10% either way from run to run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import smp
from smp.compiled import fetch_add
from smp.perturb import factor

KINDS = ("apart", "locked", "pool", "chain")
_CHANCES = (0.5, 0.25, 0.1, 0.15)
_LOCKS = 2
_LEAST, _MOST = 20_000, 200_000  # ns for which a place keeps its processors busy in a round, about
_PASSES = 5  # most passes of a processor in a place that is apart
_CHUNKS = 3  # chunks of a pool, for each processor
_VARIATION = 0.05  # from run to run, a pass varies by at most twice this share of its length, either way
_BYTES = 10  # bytes of local data that a loop touches in a nanosecond of virtual time
_scratch = np.empty(1 << 25, np.uint8)  # never touched


@smp.local
def _touch(data: Any) -> int:
    return data.size


def burn(ns: int) -> None:
    """Let virtual time pass, by a loop over local data of the right size."""
    _touch(_scratch[: _BYTES * ns])


class Place(NamedTuple):
    """A place of a program."""

    name: str
    kind: str
    lock: int
    """Lock of a locked place."""
    passes: tuple[int, ...]
    """Passes of each processor in a round; those of a pool are shared by all."""
    work: NDArray[np.float64]
    """Nanoseconds of each pass, shape (all passes,), processor by processor."""
    first: bool = True
    """Whether a stage is the first of its phase."""
    last: bool = True
    """Whether a stage is the last of its phase."""


class Phase(NamedTuple):
    """Places that a processor passes one after another."""

    places: tuple[int, ...]
    barrier: bool


class Program(NamedTuple):
    """A random program, made by `drawn` or by `balanced` (see ``balanced_programs``)."""

    processors: int
    rounds: int
    places: tuple[Place, ...]
    phases: tuple[Phase, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its places."""
        return tuple(place.name for place in self.places)

    def work(self, seed: int, faster: dict[str, float] | None = None) -> list[NDArray[np.int64]]:
        """Return the ns of each pass of a run: for each place an array (rounds, passes) int64.

        Parameters
        ----------
        seed : int
            Seed of the variation from run to run.
        faster : dict of float, optional
            Share of its work that a place is freed of.
        """
        rng = np.random.default_rng(seed)
        shares = faster or {}
        found = []
        for place in self.places:
            vary = 1 + _VARIATION * rng.uniform(-2, 2, (self.rounds, len(place.work)))
            found.append(np.rint(place.work * vary * (1 - shares.get(place.name, 0.0))).astype(np.int64))
        return found


def drawn(seed: int) -> Program:
    """Draw a program of 2 to 8 processors and 6 to 8 places."""
    rng = np.random.default_rng(seed)
    processors = int(rng.integers(2, 9))
    names = "abcdefgh"[: rng.integers(6, 9)]
    places = tuple(_place(rng, name, processors) for name in names)
    cuts = np.sort(rng.choice(np.arange(1, len(places)), rng.integers(1, 4), replace=False))
    order = np.split(rng.permutation(len(places)), cuts)
    phases = tuple(Phase(tuple(part.tolist()), bool(rng.random() < 0.6)) for part in order)
    return Program(processors, int(rng.integers(3, 5)), places, phases)


def _place(rng: np.random.Generator, name: str, processors: int) -> Place:
    kind = str(rng.choice(KINDS, p=_CHANCES))
    size = float(np.exp(rng.uniform(np.log(_LEAST), np.log(_MOST))))
    passes = np.ones(processors, np.int64)
    if kind == "pool":
        passes *= _CHUNKS
        size /= _CHUNKS
    elif kind != "apart":  # the passes of all processors follow one another
        size *= 2 / processors
    else:
        passes = rng.integers(1, _PASSES + 1, processors)
        size /= passes.mean()
        if rng.random() < 0.5:
            passes[rng.permutation(processors)[rng.integers(1, processors) :]] = 0
    lengths = np.repeat(rng.uniform(0.75, 1.25, processors), passes)
    return Place(name, kind, int(rng.integers(_LOCKS)), tuple(passes.tolist()), size * lengths)


def spmd(
    proc: smp.Processor,
    program: Program,
    work: list[NDArray[np.int64]],
    locks: smp.Cells,
    hands: smp.Cells,
    taken: smp.GlobalArray,
) -> None:
    """Run a program.

    Parameters
    ----------
    proc : Processor
    program : Program
    work : list of ndarray
        Nanoseconds of each pass, made by `Program.work`.
    locks : Cells
        Locks, full.
    hands : Cells (places * processors,)
        Cells of the chains, empty: for each place, one before each processor.
    taken : GlobalArray (rounds * places,) int64
        Number of chunks taken from each pool in each round: zeros.
    """
    me, last = proc.rank, proc.size - 1
    for turn in range(program.rounds):
        for phase in program.phases:
            for k in phase.places:
                place, ns, hand = program.places[k], work[k][turn].tolist(), k * proc.size + me
                if place.kind == "pool":
                    while (chunk := int(fetch_add(taken.view, turn * len(program.places) + k, 1))) < len(ns):
                        with factor(place.name):
                            burn(ns[chunk])
                    continue
                if place.kind == "locked":
                    locks.readfe(place.lock)
                elif place.kind == "chain" and me:
                    hands.readfe(hand)
                before = sum(place.passes[:me])
                for mine in ns[before : before + place.passes[me]]:
                    if not place.first:
                        hands.readfe(k * proc.size)
                    with factor(place.name):
                        burn(mine)
                    if not place.last:
                        hands.writeef((k + 1) * proc.size, 0)
                if place.kind == "locked":
                    locks.writeef(place.lock, 0)
                elif place.kind == "chain" and me < last:
                    hands.writeef(hand + 1, 0)
            if phase.barrier:
                proc.barrier()


class Stage:
    """An emulated machine with the data of a program; threads that wait for a cell are served in order of arrival.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        places = len(program.places)
        self.program = program
        self.machine = smp.emulated(program.processors, schedule="clock")
        self._locks = self.machine.cells(_LOCKS, full=True, retries=0)  # waiters queue at once
        self._hands = self.machine.cells(places * program.processors, retries=0)
        self._taken = self.machine.zeros(program.rounds * places, np.int64)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.close()

    def arguments(self, seed: int, faster: dict[str, float] | None = None) -> tuple[Any, ...]:
        """Return the arguments of `spmd` for one run; see `Program.work`."""
        self._taken.view[...] = 0
        return self.program, self.program.work(seed, faster), self._locks, self._hands, self._taken
