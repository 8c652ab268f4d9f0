"""Events of a recorded run: what each stream did, and when.

A processor's streams note events in their rings (see ``protocols.event_rings``).  At the end of its program the
processor takes them out, and names what the addresses and numbers in them stand for (`Recording`).  The run joins the
events of all processors into the structured array that users see (`joined_events`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...memory.recording import StreamEvents
from ...memory.threads import NAMES, Threads
from ...protocols import event_rings as rings
from ...protocols import waiters
from ...protocols.message_waits import MESSAGES, NETWORKS
from .clock_offsets import Drift

KINDS = {
    rings.WAITS: "waits",
    rings.TRAPS: "traps",
    rings.WAKES: "wakes",
    rings.GOES_ON: "goes on",
    rings.SERVES: "serves",
    rings.STARTS: "starts",
    rings.BEGINS: "begins",
    rings.ENDS: "ends",
    rings.SENDS: "sends",
    rings.GETS: "gets",
}
"""Names of the kinds of events, in the order in which `Run.events` documents them."""
NOBODY, SIDES = -1, ("left", "right")
MESSAGE, THREAD = "message", "the end of a thread"
PackedEvents = tuple[bytes, list[str], int]
"""Rows of RAW, texts by number, and the number of events that were dropped."""
RAW = np.dtype(
    [(name, np.int32) for name in ("stream", "kind", "what", "where", "peer", "number")] + [("time", np.float64)]
)
EVENT = np.dtype(
    [
        ("rank", np.int32),
        ("stream", np.int32),
        ("time", np.float64),
        ("event", "U8"),
        ("what", "U64"),
        ("where", "U64"),
        ("peer", np.int32),
        ("number", np.int32),
    ]
)


class Recording:
    """The events of one processor in one run.

    Parameters
    ----------
    rank : int
        Number of the processor.
    threads : Threads
        Its streams, which note events from now on.
    clock : callable
        Returns the seconds of the clock of the run.
    """

    def __init__(self, rank: int, threads: Threads, clock: Callable[[], float]) -> None:
        self._rank, self._threads, self._clock = rank, threads, clock
        self._rows, self._dropped = np.zeros(0, RAW), 0
        self._texts: dict[str, int] = {"": 0}
        self._rings = threads.record()

    def end(self) -> None:
        """Take the events out of the rings."""
        mine = int(self._threads.own().words[waiters.RANK])  # on a node: the place of the processor there
        shift, found = self._shift(), self._rings.of(mine)
        self._rows = np.concatenate([self._rows, *(self._named(each, shift, mine) for each in found)])
        self._dropped = sum(each.dropped for each in found)
        self.stop()

    def stop(self) -> None:
        """Record no further events."""
        self._threads.end_record()

    def correct(self, drift: Drift) -> None:
        """Correct the times; see `Drift`."""
        self._rows["time"] = drift.corrected(self._rows["time"].copy())

    def packed(self) -> PackedEvents:
        """Return the events that were taken out."""
        return self._rows.tobytes(), list(self._texts), self._dropped

    def _shift(self) -> float:
        """Return the seconds from the clock of events to that of the run; 0 in virtual time, where both are one."""
        tries = []
        for _ in range(5):
            before, now, after = self._clock(), self._rings.now(), self._clock()
            tries.append((after - before, math.floor((before + after) / 2 * 1e9 - now) / 1e9))
        return min(tries)[1]

    def _named(self, of_stream: StreamEvents, shift: float, mine: int) -> NDArray[np.void]:
        events = of_stream.events
        kind, at, other = (events[:, k] for k in (rings.KIND, rings.AT, rings.OTHER))
        rows = np.zeros(len(events), RAW)
        rows["stream"], rows["kind"] = of_stream.stream, kind
        rows["time"] = events[:, rings.TIME] / 1e9 + shift
        rows["peer"] = NOBODY
        operation = np.isin(kind, (rings.WAITS, rings.TRAPS))
        rows["what"][operation] = self._numbers(other[operation], _operation)
        cell = operation | (kind == rings.GOES_ON)
        rows["where"][cell] = self._numbers(at[cell], self._place)
        rows["number"][kind == rings.GOES_ON] = other[kind == rings.GOES_ON]
        thread = np.isin(kind, (rings.STARTS, rings.BEGINS, rings.ENDS))
        rows["what"][thread] = self._numbers(other[thread], self._rings.functions.__getitem__)
        rows["number"][thread] = other[thread]
        packet = np.isin(kind, (rings.SENDS, rings.GETS))
        rows["what"][packet] = self._numbers(at[packet] % NETWORKS, SIDES.__getitem__)
        rows["number"][packet], rows["peer"][packet] = at[packet] // NETWORKS, other[packet]
        served = kind == rings.SERVES
        places, rows["number"][served] = self._rings.whose(other[served])
        rows["peer"][served] = np.where(places < 0, NOBODY, places + self._rank - mine)
        return rows

    def _place(self, address: int) -> str:
        return "" if address == 0 else self._rings.name_of(address) or THREAD

    def _numbers(self, values: NDArray[np.int64], text: Callable[[int], str]) -> NDArray[np.int32]:
        """Return for each value the number of its text."""
        different, place = np.unique(values, return_inverse=True)
        numbers = [self._texts.setdefault(text(int(value)), len(self._texts)) for value in different]
        return np.array(numbers, np.int32)[place]


def _operation(op: int) -> str:
    return MESSAGE if op == MESSAGES else NAMES.get(op, "")


def joined_events(packs: Sequence[PackedEvents | None]) -> tuple[NDArray[np.void], int]:
    """Join the events of all processors.

    Parameters
    ----------
    packs : sequence
        Records of processors 0, 1, ...; None for one that has recorded no events.

    Returns
    -------
    events : EVENT array
        Ordered by time.
    dropped : int
        Number of events that later ones have replaced.
    """
    parts, dropped = [np.zeros(0, EVENT)], 0
    for rank, pack in enumerate(packs):
        if pack is None:
            continue
        rows, texts = np.frombuffer(pack[0], RAW), np.array(pack[1])
        part = np.zeros(len(rows), EVENT)
        part["rank"] = rank
        for name in ("stream", "time", "peer", "number"):
            part[name] = rows[name]
        part["what"], part["where"] = texts[rows["what"]], texts[rows["where"]]
        part["event"] = np.array(["", *KINDS.values()])[rows["kind"]]
        parts.append(part)
        dropped += pack[2]
    events = np.concatenate(parts)
    causes = np.isin(events["event"], ("serves", "starts", "sends"))  # before their effects, also in the same moment
    return events[np.lexsort((~causes, events["time"]))], dropped
