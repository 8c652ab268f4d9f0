"""The CPU of each processor of a new machine, given those that other machines of the same user have claimed.

pin=            CPUs                                         if other machines have claimed too many
------------------------------------------------------------------------------------------------------------
None            the lowest that are free                     the processors may move, and a line of the log says so
True            the lowest that are free                     those that the fewest others have claimed, and the same
a sequence      those that it names                          the same: they are claimed only for others to see
False           none
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from smp._computer.limits import places_of

from .claims import Claims

VARIABLE = "SMP_PIN"
"""Environment variable that turns pinning off."""
MOST_SHARING = 64
"""Most machines that share a CPU and still know of each other."""
_said = False


@dataclass(frozen=True)
class Pinned:
    """The CPUs on which the processors of a machine run.

    Attributes
    ----------
    places : list of int or None
        CPU of each processor, None for a processor that may move.
    roomy : bool
        Whether each processor has a CPU of its own, so that waits may spin.
    claims : Claims
        The claims to these CPUs, which the machine releases when it is closed.
    """

    places: list[int | None]
    roomy: bool
    claims: Claims


def pinned(size: int, cpus: Sequence[int], pin: bool | Sequence[int] | None) -> Pinned:
    """Choose and claim the CPUs of a new machine.

    Parameters
    ----------
    size : int
        Number of processors.
    cpus : sequence of int
        The CPUs that can be kept busy.
    pin : bool, sequence of int or None
        See `smp.host`.

    Raises
    ------
    TypeError, ValueError
        If the processors cannot be pinned in this way, or ``SMP_PIN`` has a value that it cannot have.
    """
    places = places_of(size, cpus, False if pin is None and _is_off() else pin)
    chosen = pin is None or pin is True
    claims = Claims(named=not chosen)
    if places[0] is not None:
        try:
            if chosen and len(cpus) > 1:
                places = _free(claims, size, cpus, pin is True)
            else:  # there is no choice
                for cpu in {cpu for cpu in places if cpu is not None}:
                    claims.take(cpu)
        except OSError:  # without claims, machines do not know of each other
            claims.release()
    roomy = size <= len(cpus) and len(set(places)) in (1 if places[0] is None else size, size)
    return Pinned(places, roomy, claims)


def _is_off() -> bool:
    value = os.getenv(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"{VARIABLE} must be 0 or 1, not {value!r}: 0 lets processors move between CPUs")
    return value == "0"


def _free(claims: Claims, size: int, cpus: Sequence[int], shared: bool) -> list[int | None]:
    """Claim the first CPUs that are free, or, if they may be ``shared``, those that the fewest others have claimed."""
    free = 0
    for layer in range(MOST_SHARING if shared else 1):
        for cpu in cpus:
            if len(claims.cpus) < size and cpu not in claims.cpus:
                claims.take(cpu, layer)
        if layer == 0:
            free = len(claims.cpus)
        if len(claims.cpus) == size:
            break
    if free < size:
        _say(size, free, len(cpus), shared)
    if len(claims.cpus) < size:
        claims.release()
        return list(cpus[:size]) if shared else [None] * size
    return list(claims.cpus)


def _say(size: int, free: int, count: int, shared: bool) -> None:
    """Log, once in a process, that a machine shares CPUs."""
    global _said
    if _said:
        return
    _said = True
    logging.getLogger("smp").warning(
        "smp: a machine of %d processor%s shares CPUs with other machines of yours, which have claimed %d of the %d "
        "that this process may use. Its processors %s, and times vary more. Close machines that you no longer use%s",
        *(size, "s" * (size > 1), count - free, count),
        "stay on the CPUs that the fewest others have claimed" if shared else "may move between all of them",
        "." if shared else f"; {VARIABLE}=0 turns claims and this line off.",
    )
