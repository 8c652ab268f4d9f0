"""Times of one program on this computer and on the machine made from it, in neighbouring bursts.

burst     host   host   host ...  │  emulated  emulated  ...  │  host  ...
repeat    new data, two barriers  │  the program, timed on each processor
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Machine, Processor

from .cases import Case

FEWEST = 5
"""Undisturbed repeats that a median needs."""
BURSTS, SECONDS = {True: 3, False: 12}, {True: 1.0, False: 6.0}
"""Most bursts of a program, and seconds after which no further one begins, for quick runs and for others."""
REPEATS = 6
"""Repeats in a burst, after one that is not counted, because it finds the caches as the other machine has left them."""
BUSY = 0.9
"""A repeat is undisturbed if every processor had a CPU for this share of the time, and never lost it."""
WALL, CPU, LOST = range(3)
"""Columns of a repeat: seconds of the clock, seconds of CPU, how many times the processor lost its CPU."""


@dataclass(frozen=True)
class Times:
    """Times of a program.

    Attributes
    ----------
    measured : float or None
        Seconds on this computer; None if too few repeats were undisturbed.
    virtual : float
        Seconds on the emulated machine.
    repeats : (int, int)
        Number of undisturbed repeats, and of all.
    """

    p: int
    family: str
    n: int
    form: str
    measured: float | None
    virtual: float
    repeats: tuple[int, int]

    @property
    def error(self) -> float | None:
        """The virtual time's relative error."""
        return None if self.measured is None else self.virtual / self.measured - 1

    def as_json(self) -> dict[str, Any]:
        """Return all values, with the error."""
        return asdict(self) | {"error": self.error}


def times(host: Machine, emulated: Machine, case: Case, quick: bool) -> Times:
    """Return the times of a program on both machines."""
    arrays = {machine: (machine.array(case.data), machine.array(case.data)) for machine in (host, emulated)}
    taken: dict[Machine, list[NDArray[np.float64]]] = {host: [], emulated: []}
    for machine in arrays:
        _burst(machine, case, *arrays[machine], repeats=1)  # loads compiled loops, touches memory
    begun = time.monotonic()
    for burst in range(BURSTS[quick]):
        if burst and time.monotonic() - begun > SECONDS[quick]:
            break
        for machine in arrays:
            taken[machine].append(_burst(machine, case, *arrays[machine], repeats=1 + REPEATS)[:, 1:])
    mine = np.concatenate(taken[host], axis=1)
    quiet = ((mine[:, :, LOST] == 0) & (mine[:, :, CPU] >= BUSY * mine[:, :, WALL])).all(axis=0) | (case.p == 1)
    seconds = mine[:, :, CPU if case.p == 1 else WALL].max(axis=0)
    measured = float(np.median(seconds[quiet])) if quiet.sum() >= FEWEST else None
    virtual = float(np.median(np.concatenate(taken[emulated], axis=1)[:, :, WALL].max(axis=0)))
    return Times(case.p, case.family, case.n, case.form, measured, virtual, (int(quiet.sum()), len(quiet)))


def _burst(machine: Machine, case: Case, source: GlobalArray, target: GlobalArray, repeats: int) -> NDArray[np.float64]:
    """Return the times of some repeats, an array of shape (p, repeats, 3)."""
    arrays = (source, target) if case.apart else (target,)
    run = machine.run(_timed, repeats, source, target, case.program, arrays, dict(case.options))
    return np.array(run.results)


def _timed(
    proc: Processor,
    repeats: int,
    source: GlobalArray,
    target: GlobalArray,
    program: Callable[..., Any],
    arrays: tuple[GlobalArray, ...],
    options: dict[str, Any],
) -> NDArray[np.float64]:
    found, mine = np.empty((repeats, 3)), proc.block(source.size)
    with _allocations(proc) as elsewhere:
        for k in range(repeats):
            target.view.reshape(-1)[mine] = source.view.reshape(-1)[mine]
            proc.barrier()
            proc.barrier()
            elsewhere[:] = 0
            start = _now(proc)
            program(proc, *arrays, **options)
            found[k] = _now(proc) - start - elsewhere
    return found


def _now(proc: Processor) -> NDArray[np.float64]:
    return np.array(
        [proc.clock(), time.thread_time(), resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw], np.float64
    )


@contextmanager
def _allocations(proc: Processor) -> Iterator[NDArray[np.float64]]:
    """Sum up what this processor spends while the parent makes arrays."""
    port, sums = proc._port, np.zeros(3)
    inner = type(port).allocate

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        start = _now(proc)
        try:
            return inner(port, shape, dtype)
        finally:
            sums[:] += _now(proc) - start

    port.allocate = allocate  # type: ignore[method-assign]
    try:
        yield sums
    finally:
        del port.allocate
