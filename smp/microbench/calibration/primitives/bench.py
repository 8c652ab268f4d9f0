"""Machines on which primitives are measured, and the choice of the bursts that count.

    run    burst  5.0   5.1   8.3   8.2   5.0   us a call            the mean of the processors that are timed
           loop   18    18    31    30    19    us, the longest      the reference loop of `sample`
                  fast  fast  slow  slow  fast                       slow: 1.35 times the shortest loop so far

A virtual CPU is slow while the host runs another one on the same core, for milliseconds to seconds.  Bursts on a slow
CPU do not count, and a run with few others is repeated.  A sample is the lower quartile of the bursts that count.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smp._runtime.machine import Machine

from .primitive import Effort, Primitive, sample

SLOW = 1.35
"""Ratio of two times of the reference loop from which a CPU counts as slow."""
RUNS, MOST_S = 5, 60.0
"""Most runs of a sample, and seconds after which no run is repeated any more because a CPU was slow."""
QUARTILE = 25
"""Percentage of the bursts of a sample that are shorter than it: other programs only make bursts longer."""


class Bench:
    """Machines on which primitives are measured, opened when they are needed."""

    def __init__(self, opened: Callable[[int], Machine], effort: Effort) -> None:
        self._machine, self._effort = functools.cache(opened), effort
        self._reference = math.inf  # seconds of the reference loop at full speed
        self._spent = 0.0  # seconds of repeated runs

    def seconds(self, primitive: Primitive, p: int, *sizes: int) -> float:
        """Return a sample of a primitive in seconds, on p processors."""
        taken = self._bursts(primitive, p, *sizes)
        began, runs = time.monotonic(), 1
        while (fast := self._at_full_speed(taken)).sum() < self._effort.bursts // 2:
            if runs == RUNS or self._spent > MOST_S:
                break
            taken, runs = np.concatenate([taken, self._bursts(primitive, p, *sizes)], axis=1), runs + 1
        self._spent += time.monotonic() - began
        bursts = np.nanmean(taken[:, :, 0], axis=0)
        return float(np.percentile(bursts[fast if fast.any() else slice(None)], QUARTILE))

    def _at_full_speed(self, taken: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the bursts during which no processor was slow."""
        longest = taken[:, :, 1].max(axis=0)
        self._reference = min(self._reference, float(longest.min()))
        return np.asarray(longest <= SLOW * self._reference)

    def _bursts(self, primitive: Primitive, p: int, *sizes: int) -> NDArray[np.float64]:
        """Return the bursts of one run: `Timed` by processor and burst."""
        with contextlib.ExitStack() as stack:
            path = None
            if primitive.recorded == "log":
                path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "log"
            if primitive.recorded == "lines":
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            given = dict(zip(primitive.sizes, sizes, strict=False))  # without sizes there is a turn, which is not used
            run = self._machine(p).run(sample, primitive.make, given, self._effort, log=path)
        return np.array(run.results)
