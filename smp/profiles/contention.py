"""Parameters of the LoPC model for a measured machine: latency S_l and occupancy S_o, of words and of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ProfileError

MEASURE = "python -m smp.microbench --only synchronisation"
MEASURE_MESSAGES = "python -m smp.microbench --only messages"


class Contention(NamedTuple):
    """Parameters of the LoPC model for a machine, in seconds.

    Attributes
    ----------
    latency : float
        S_l, the time of a trip from one processor to another.
    occupancy : float
        S_o, the time of a handler.
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
        If the hand-off of a line or contended fetch-adds were not measured; the message names the command that
        measures them.

    Notes
    -----
    In shared memory, a request is an access to a word whose line another CPU has; its handler is the operation that
    keeps the line busy.

    S_l
        A request and its reply take 2 S_l + 2 S_o. That is the hand-off of a line from one CPU to another if the CPUs
        only compare and exchange (``synchronisation.handoff_exchange_ns``, the median over the pairs of CPUs), because
        each exchange is one request for the line. A hand-off by loads and stores is longer: the load asks for the line,
        and then the store does, since both CPUs have it.
    S_o
        Time for which one operation keeps the line busy. If p processors do nothing but fetch-and-add on one word, the
        line is always busy: if each processor does one operation in a time t, the line serves one in t / p. S_o is
        this t / p for the largest p measured (``synchronisation.fetch_add_ns``). A CPU may do several operations while
        it has the line, so S_o is the least time that a request takes.

    Both are for shared memory served by hardware: solve with ``protocol_processor=True``. A message that wakes a
    sleeping thread takes thousands of times longer; for such messages, give the model the times that the
    microbenchmarks' sections ``chain`` and ``threads`` report.

    Examples
    --------
    >>> measured = {"handoff_exchange_ns": 104.0, "fetch_add_ns": {"alone": 5.0, "contended": {"2": 40.0}}}
    >>> latency, occupancy = contention_parameters({"synchronisation": measured})
    >>> round(1e9 * latency, 6), round(1e9 * occupancy, 6)
    (32.0, 20.0)
    """
    found = profile.get("synchronisation") or {}
    handed = found.get("handoff_exchange_ns")
    contended = (found.get("fetch_add_ns") or {}).get("contended") or {}
    if handed is None or not contended:
        raise ProfileError(
            "this profile has no price for processors that want the same cache line: the hand-off of a line and "
            f"contended fetch-adds were not measured; {MEASURE} measures them if 2 CPUs or more may be used"
        )
    most = max(contended, key=int)
    occupancy = contended[most] / int(most)
    return Contention(max(0.0, handed / 2 - occupancy) * 1e-9, occupancy * 1e-9)


def message_parameters(profile: Mapping[str, Any]) -> Contention:
    """Take S_l and S_o of requests from Python between awake processors from a profile.

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
        If messages between two processors were not measured; the message names the command that measures them.

    Notes
    -----
    A request and its reply between two processors that do nothing else take 2 S_l + 2 S_o: the row ``request`` of the
    section ``messages``.

    S_l
        Time of a packet one way between compiled loops, half of that there and back (``trip``).
    S_o
        The rest, half of it for the handler of the request and half for that of the reply. It includes the time that
        Python takes to send.

    Examples
    --------
    >>> rows = [{"what": "trip", "processors": 2, "ns": 100.0}, {"what": "request", "processors": 2, "ns": 1900.0}]
    >>> latency, occupancy = message_parameters({"messages": {"rows": rows}})
    >>> round(1e9 * latency, 6), round(1e9 * occupancy, 6)
    (50.0, 900.0)
    """
    rows = (profile.get("messages") or {}).get("rows") or []
    ns = {row["what"]: row["ns"] for row in rows if row.get("processors") == 2 and row["what"] in ("trip", "request")}
    if len(ns) < 2:
        raise ProfileError(
            "this profile has no price for requests to another processor: messages between 2 processors were not "
            f"measured; {MEASURE_MESSAGES} measures them if 2 CPUs or more may be used"
        )
    return Contention(ns["trip"] / 2 * 1e-9, max(0.0, ns["request"] - ns["trip"]) / 2 * 1e-9)
