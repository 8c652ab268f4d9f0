"""S_l and S_o of a measured machine: the LoPC model's parameters, as shared memory has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ProfileError

MEASURE = "python -m smp.microbench --only synchronisation"


class Contention(NamedTuple):
    """The LoPC model's parameters of a machine, in seconds.

    Attributes
    ----------
    latency : float
        S_l.
    occupancy : float
        S_o.
    """

    latency: float
    occupancy: float


def contention_parameters(profile: Mapping[str, Any]) -> Contention:
    """Take S_l and S_o from a profile.

    Parameters
    ----------
    profile : mapping
        The JSON document, `Profile.data`.

    Returns
    -------
    Contention
        Latency and occupancy in seconds; unpacks as a pair.

    Raises
    ------
    ProfileError
        When the hand-off of a line or contended fetch-adds were not measured; says which command measures them.

    Notes
    -----
    A request is an access to a word that somebody else has; the handler is what its line is kept busy by.

    S_l
        The hand-off of a line from one CPU to another, one way, by looking and storing: the median over the
        pairs of CPUs (``synchronisation.handoff_store_ns``).
    S_o
        Of a word at which p processors do nothing but fetch-and-add, the line never rests: with one operation of
        each processor in t, it serves one in t / p. Of the largest p measured (``synchronisation.fetch_add_ns``).
        It includes that a CPU may do several while it has the line, so it is the least that a request takes.

    Both are of shared memory served by hardware: solve with ``protocol_processor=True``. A message that wakes a
    sleeping thread takes thousands of times longer; give the model what the sections chain and threads say of it.

    Examples
    --------
    >>> measured = {"handoff_store_ns": 64.0, "fetch_add_ns": {"alone": 5.0, "contended": {"2": 40.0}}}
    >>> latency, occupancy = contention_parameters({"synchronisation": measured})
    >>> round(1e9 * latency, 6), round(1e9 * occupancy, 6)
    (64.0, 20.0)
    """
    found = profile.get("synchronisation") or {}
    handed = found.get("handoff_store_ns")
    contended = (found.get("fetch_add_ns") or {}).get("contended") or {}
    if handed is None or not contended:
        raise ProfileError(
            "this profile does not say what it costs when processors want the same line: the hand-off of a line and "
            f"contended fetch-adds were not measured; {MEASURE} measures them, where 2 CPUs or more may be used"
        )
    most = max(contended, key=int)
    return Contention(handed * 1e-9, contended[most] / int(most) * 1e-9)
