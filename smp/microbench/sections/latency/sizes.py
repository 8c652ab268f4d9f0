"""Array sizes and strides of the latency probe for each mode, and the reason if the arrays end early."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smp.microbench.method.plan import Plan

KIB, MIB = 1 << 10, 1 << 20
SMALLEST = 64 * MIB
"""Smallest size of the largest array, memory permitting, since a cache may be larger than the system reports."""


@dataclass(frozen=True)
class Effort:
    """Extent of the measurements in one mode.

    Parameters
    ----------
    seconds : float
        Seconds for the whole probe.
    cap_bytes : int
        Upper limit on the bytes of the largest array.
    size_step, stride_step : int
        Ratio of each size of the stride curve to the size before, and of each stride to the stride before.
    halves_up_to : int
        Bytes up to which the curves in random order have two sizes in each octave; beyond, they have one.
    """

    seconds: float
    cap_bytes: int
    size_step: int
    stride_step: int
    halves_up_to: int


EFFORTS = {
    "quick": Effort(3.6, 128 * MIB, 8, 8, 0),
    "default": Effort(28.0, 512 * MIB, 2, 4, 32 * MIB),
    "full": Effort(120.0, 2048 * MIB, 2, 2, 256 * MIB),
}
"""Extent of each mode."""


def largest_array(plan: Plan, available: int | None) -> tuple[int, str | None]:
    """Return the bytes of the largest array, a power of two, and the reason if it is smaller than the probe wants.

    The probe wants at least four times the last cache, and at least `SMALLEST`.

    Parameters
    ----------
    plan : Plan
    available : int or None
        Bytes of memory that may be used; None if they are not known.

    Returns
    -------
    int
    str or None
    """
    cache = max((cache.bytes for cache in plan.caches), default=0)
    wanted = 1 << math.ceil(math.log2(max(4 * cache, SMALLEST)))
    cap = EFFORTS[plan.mode].cap_bytes
    # all arrays together take up to eleven times the largest, and about half of the memory is left to other programs
    fits = wanted if available is None else 1 << max(20, math.floor(math.log2(max(1, available / 16))))
    largest = min(wanted, cap, fits)
    if largest >= wanted:
        return largest, None
    reason = f"{available or 0:,} bytes of memory are available" if fits < cap else f"the mode is {plan.mode}"
    return largest, (
        f"the largest array should have four times the last cache that the system reports ({cache:,} bytes) or more, "
        f"here {wanted:,} bytes; it has {largest:,} bytes, since {reason}"
    )


def stride_grid(effort: Effort, largest: int) -> list[tuple[int, int]]:
    """Return the pairs of array size and stride in bytes: sizes from 1 KiB up, strides from 8 bytes to the size."""
    sizes = _powers(KIB, largest, effort.size_step)
    return [(size, stride) for size in sizes for stride in _powers(8, size, effort.stride_step)]


def random_sizes(plan: Plan, largest: int) -> list[int]:
    """Return the sizes of the curves in random order, from 4 KiB up; from two pages up they are whole pages."""
    octaves = _powers(4 * KIB, largest, 2)
    halves = [3 * size // 2 for size in octaves[:-1] if 3 * size // 2 <= EFFORTS[plan.mode].halves_up_to]
    return sorted(octaves + halves)


def _powers(first: int, last: int, step: int) -> list[int]:
    """Return ``first`` times the powers of ``step`` below ``last``, and then ``last`` itself."""
    made = [first]
    while made[-1] * step < last:
        made.append(made[-1] * step)
    return [*made, last] if last > first else made
