"""An emulated machine that is rewound and reused between the schedules of a program.

`explore` and `replay` use it.  At the beginning of a schedule, the words of the machine and its blocks are zeroed.
Nothing is pickled, and there is no barrier at the end of a program.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from smp.errors import CheckFailed

from ..emulated.costs import Charges
from ..emulated.effects import Effects
from ..emulated.networks.kinds import Kind, checked_network
from ..emulated.ordering import Ordering
from ..emulated.primitives import ACCESSES
from ..emulated.processors import EmulatedProcessors
from ..emulated.schedules import Choices
from ..loops.compiler import numba
from ..loops.places import called
from ..machine import Machine
from ..memory.segment import Block
from ..memory.witness import Witness
from ..program.answering import raised
from ..program.failures import RaisedBy
from ..program.processor import Processor, checked_number
from ..program.records.recorded import Repeat
from ..program.run import Run
from ..program.steps import Recorder
from .operations import Operations

STEPS = 20_000
"""Most steps of one schedule, if no other limit is given."""

Setup = Callable[[Machine], Any]
Check = Callable[..., Any]


class _Accessed(Exception):
    """A program has accessed an array, so its schedules can have races; ends the schedule, which is run again."""


class _Rewound(EmulatedProcessors):
    """Processors whose blocks are given out again, in the same order, zeroed."""

    def rewind(self) -> None:
        """Begin again with the first block."""
        if not hasattr(self, "_kept"):
            self._kept: list[Block] = []
        self._given = 0
        self._allocations.clear()
        self._own.clear()

    def allocate(self, nbytes: int) -> Block:
        if self._given == len(self._kept):
            self._kept.append(super().allocate(nbytes))
        block = self._kept[self._given]
        if block.nbytes != nbytes:
            block = self._kept[self._given] = super().allocate(nbytes)
        else:
            self.segment.bytes_at(block.offset, nbytes)[:] = bytes(nbytes)
        self._given += 1
        return block


class ReusedMachine:
    """A machine on which schedules are run one after the other, without rebuilding what can be kept between them.

    Attributes
    ----------
    witness : Witness
        Looks at the accesses that are not steps.
    effects : Effects
        Records what each step touches, if ``reduction`` is True.
    """

    def __init__(
        self,
        program: Callable[..., Any],
        processors: int,
        streams: int,
        setup: Setup | None,
        check: Check | None,
        longest: int,
        network: Kind | None,
        races: bool,
        reduction: bool = False,
    ) -> None:
        if not callable(program):
            raise TypeError(f"a program must be a function of a processor, not a {type(program).__name__}")
        self._size, self._streams = checked_number("processors", processors), checked_number("streams", streams)
        self._program, self._setup, self._check = program, setup, check
        self._longest = longest
        self._processors = _Rewound(
            self._size, Choices, longest, False, Charges().parts(checked_network(network, by_clock=False))
        )
        self._machine = Machine(self._processors)
        self._processors.emulator.abort = None  # a schedule that fails is over
        if "numba" in sys.modules:
            numba()  # for compiled functions that know nothing of smp: see `witness`
        self.witness = self._processors.segment.witness = Witness()
        emulator = self._processors.emulator
        emulator.witnessed = True
        self.witness.running = lambda: emulator.running
        self._processors.overlaps.report = emulator.leave
        if races:
            self.witness.met = lambda: emulator.leave(_Accessed())
        else:
            self.witness.step = lambda kind: emulator.step(ACCESSES[kind], ())
        self.effects = Effects(emulator.leave)
        if reduction:
            emulator.effects = self.effects
            self.witness.touches, self.witness.hides = self.effects.touches, self.effects.hides

    def __enter__(self) -> ReusedMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self._machine.close()

    def run(self, choices: Choices, record: Operations | None = None) -> Run:
        """Run one schedule; once a program accesses arrays, keep looking for races from then on.

        Raises
        ------
        ProgramError, CheckFailed, Exception
            If the program fails, if the check returns a false value, or if the check raises an exception.
        """
        try:
            return self._run(choices, record)
        except _Accessed:
            emulator = self._processors.emulator
            emulator.ordering = Ordering(self.witness)
            self.witness.report, self.witness.met = emulator.leave, None
            choices.again()
            if record is not None:
                record.clear()
            return self._run(choices, record)

    def _run(self, choices: Choices, record: Operations | None) -> Run:
        processors, emulator = self._processors, self._processors.emulator
        emulator.reset(choices, self._longest, None if record is None else record.steps)
        processors.rewind()
        self.witness.begin()
        processors.overlaps.begin()
        if emulator.ordering is not None:
            emulator.ordering.begin()
        made = () if self._setup is None else self._setup(self._machine)
        args = made if isinstance(made, tuple) else (made,)
        shown = self.witness.shown_in(args)
        self.effects.begin(self.witness.given)
        processors.begin()
        results: list[Any] = [None] * self._size
        recorders = [Recorder() for _ in results]
        for rank, recorder in enumerate(recorders):
            emulator.spawn(rank, partial(self._live, rank, recorder, shown, results))
        start = time.perf_counter()
        self.witness.on = True
        try:
            with nullcontext() if record is None else record.recorded(emulator, self._program, shown):
                emulator.run()
        finally:
            self.witness.on = False
        if emulator.fault is not None:
            stream, fault = emulator.fault
            if not isinstance(fault, Exception):
                raise fault
            error = RaisedBy(stream.rank, raised(processors.ports[stream.rank], fault)).error({}, self._size)
            error.__cause__ = fault
            raise error
        wall = time.perf_counter() - start
        run = Run(results, [Repeat([recorder.packed() for recorder in recorders], wall)], processors.kind)
        if self._check is not None:
            verdict = self._check(run, *args)
            if verdict is not None and not verdict:
                raise CheckFailed(f"the check returned {verdict!r} for the results {results!r:.200}")
        return run

    def _live(self, rank: int, recorder: Recorder, args: tuple[Any, ...], results: list[Any]) -> None:
        processor = Processor(self._processors.ports[rank], recorder, self._streams)
        results[rank] = called(self._program, processor, *args)
        processor._finish()
