"""The sizes and strides of the latency probe, by mode: how far the arrays go, and why not further."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smp.microbench.method.plan import Plan

KIB, MIB = 1 << 10, 1 << 20
SMALLEST = 64 * MIB
"""Bytes that the largest array has at least, memory permitting: a reported cache may be smaller than the real."""


@dataclass(frozen=True)
class Effort:
    """How much a mode measures.

    Parameters
    ----------
    seconds : float
        For the whole probe.
    cap_bytes : int
        Of the largest array.
    size_step, stride_step : int
        Ratio of one size of the stride curve to the one before; of one stride.
    halves_up_to : int
        Random sizes come in half octaves up to here, in octaves beyond.
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
"""By mode."""


def largest_array(plan: Plan, available: int | None) -> tuple[int, str | None]:
    """Return the bytes of the largest array, a power of two, and why it is under four times the last cache.

    Parameters
    ----------
    plan : Plan
    available : int or None
        Bytes of memory that may be used; None where that is not known.

    Returns
    -------
    int
    str or None
    """
    cache = max((cache.bytes for cache in plan.caches), default=0)
    wanted = 1 << math.ceil(math.log2(max(4 * cache, SMALLEST)))
    cap = EFFORTS[plan.mode].cap_bytes
    # all arrays together take up to eleven times the largest, and about half of the memory is left to others
    fits = wanted if available is None else 1 << max(20, math.floor(math.log2(max(1, available / 16))))
    largest = min(wanted, cap, fits)
    if largest >= wanted:
        return largest, None
    reason = f"{available or 0:,} bytes of memory are available" if fits < cap else f"the mode is {plan.mode}"
    return largest, (
        f"four times the last cache that the system reports ({cache:,} bytes) would be {wanted:,} bytes; "
        f"arrays end at {largest:,} bytes, since {reason}"
    )


def stride_grid(effort: Effort, largest: int) -> list[tuple[int, int]]:
    """Return the pairs of bytes and stride: sizes from 1 KiB up, strides from 8 bytes to the size."""
    sizes = _powers(KIB, largest, effort.size_step)
    return [(size, stride) for size in sizes for stride in _powers(8, size, effort.stride_step)]


def random_sizes(plan: Plan, largest: int) -> list[int]:
    """Return the sizes of the curves in random order, from 4 KiB up, in whole pages where there are some."""
    octaves = _powers(4 * KIB, largest, 2)
    halves = [3 * size // 2 for size in octaves[:-1] if 3 * size // 2 <= EFFORTS[plan.mode].halves_up_to]
    return sorted(octaves + halves)


def _powers(first: int, last: int, step: int) -> list[int]:
    """``first`` times the powers of ``step``, and ``last``, which ends them."""
    made = [first]
    while made[-1] * step < last:
        made.append(made[-1] * step)
    return [*made, last] if last > first else made
