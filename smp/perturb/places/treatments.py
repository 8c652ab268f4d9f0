"""Treatments: what is done at a place that is treated (section 2.1.1). None changes what the program computes.

    Busy(ns)        "10us"            keeps the CPU busy so long, by the clock
    Work(units)     "work:10"         so many floating-point multiplications, one after another: the paper's delay(X)
    Sleep(seconds)  "sleep:1ms"       gives the CPU up so long
    Lock()          "lock"            takes and leaves a lock that all threads of the process share
    Cell()          "cell"            takes and leaves a cell that all processors share
    Message()       "message"         leaves a word in a cell of the next processor
    Buffer(nbytes)  "buffer:64KiB"    takes a buffer, touches its pages and gives it back
    Share(percent)  "20%"             Busy for so much of the time that a pass of the place takes; of an experiment

All work in Python and in compiled loops, by the same machine code. Python keeps the interpreter lock meanwhile, as
slower Python code would, but for a sleep. Cell and Message need a machine: outside of its programs they do what Lock
does, and a compiled loop calls back into Python for them, which takes about a microsecond and the interpreter lock.

On an emulated machine Busy, Work, Sleep, Lock and Buffer pass virtual time, exactly the same at every place. Cell and
Message make their steps there; in a loop over local data, which makes none, they pass time too.
"""

from __future__ import annotations

import functools
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from smp._runtime.loops.place_actions import BUFFER, BUSY, CALL, LOCK, SLEEP, WORK
from smp._runtime.loops.places import PLACES, Order

from ..designs.words import named
from .counting import Met
from .site import Site

_VIRTUAL_UNIT, _VIRTUAL_LOCK, _VIRTUAL_BYTES = 4, 16, 10  # ns of a unit; ns of two locked instructions; bytes a ns
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_OCTETS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?) *"
LONGEST = 3600.0
"""Seconds of one treatment."""


class Treatment(Protocol):
    """What is done at a place; its text is what `treatment` reads."""

    @property
    def seconds(self) -> float:
        """How long it takes where nobody else is in the way; NaN where that cannot be said beforehand."""

    def order(self, site: Site | None) -> Order:
        """Return what the process is told; ``site`` is given within a program of a machine."""


class _Unforeseen:
    @property
    def seconds(self) -> float:
        return math.nan


@dataclass(frozen=True)
class Busy:
    """Keep the CPU busy for so many nanoseconds by the clock; about 20 more, which a look at the clock takes."""

    ns: int

    def __post_init__(self) -> None:
        _check("Busy", self.ns, "ns", LONGEST * 1e9)

    def __str__(self) -> str:
        return f"{self.ns}ns"

    @property
    def seconds(self) -> float:
        return self.ns * 1e-9

    def order(self, site: Site | None) -> Order:
        return Order(BUSY, int(self.ns), int(self.ns))


@dataclass(frozen=True)
class Work:
    """Make so many units of work: dependent floating-point multiplications and additions. See `unit_ns`."""

    units: int

    def __post_init__(self) -> None:
        _check("Work", self.units, "units", 1e12)

    def __str__(self) -> str:
        return f"work:{self.units}"

    @property
    def seconds(self) -> float:
        return self.units * self.unit_ns() * 1e-9

    def order(self, site: Site | None) -> Order:
        return Order(WORK, int(self.units), _VIRTUAL_UNIT * int(self.units))

    @staticmethod
    @functools.cache
    def unit_ns() -> float:
        """Return how many nanoseconds a unit takes on this computer: the least of several measurements, once a process.

        On an emulated machine it is 4.
        """
        units, name = 20_000, "a unit of work"
        before = PLACES.orders()
        PLACES.install({name: Work(units).order(None)})
        try:
            return min(_timed(name) for _ in range(20)) / units
        finally:
            PLACES.install(before)


@dataclass(frozen=True)
class Sleep:
    """Give the CPU up for so many seconds; the system adds some 50 us."""

    seconds: float

    def __post_init__(self) -> None:
        _check("Sleep", self.seconds, "seconds", LONGEST)

    def __str__(self) -> str:
        return f"sleep:{float(self.seconds)!r}s"

    def order(self, site: Site | None) -> Order:
        ns = round(self.seconds * 1e9)
        return Order(SLEEP, ns, ns)


@dataclass(frozen=True)
class Lock(_Unforeseen):
    """Take and leave a lock: one for all places of the process, whatever thread comes there."""

    def __str__(self) -> str:
        return "lock"

    def order(self, site: Site | None) -> Order:
        return Order(LOCK, 0, _VIRTUAL_LOCK)


@dataclass(frozen=True)
class Cell(_Unforeseen):
    """Take and leave a cell: one for all places of all processors (readfe, writeef)."""

    def __str__(self) -> str:
        return "cell"

    def order(self, site: Site | None) -> Order:
        return Lock().order(None) if site is None else Order(CALL, 0, _VIRTUAL_LOCK, site.take_and_leave)


@dataclass(frozen=True)
class Message(_Unforeseen):
    """Send a dummy message: a word left in a cell of the next processor, which nobody reads (writexf)."""

    def __str__(self) -> str:
        return "message"

    def order(self, site: Site | None) -> Order:
        return Lock().order(None) if site is None else Order(CALL, 0, _VIRTUAL_LOCK, site.send)


@dataclass(frozen=True)
class Buffer(_Unforeseen):
    """Take a temporary buffer of so many bytes from the system, write to each of its pages, give it back."""

    nbytes: int

    def __post_init__(self) -> None:
        _check("Buffer", self.nbytes, "bytes", 1 << 40)

    def __str__(self) -> str:
        return f"buffer:{self.nbytes}B"

    def order(self, site: Site | None) -> Order:
        return Order(BUFFER, int(self.nbytes), int(self.nbytes) // _VIRTUAL_BYTES)


@dataclass(frozen=True)
class Share(_Unforeseen):
    """Keep the CPU busy for a share of the time that a pass of the place takes: of an experiment, which counts a run.

    It delays each place in proportion, where places take times of different orders of magnitude.
    """

    percent: float

    def __post_init__(self) -> None:
        _check("Share", self.percent, "percent", 1e6)
        if not self.percent:
            raise ValueError("a share of 0% is no treatment: take more")

    def __str__(self) -> str:
        return f"{self.percent:.12g}%"

    def order(self, site: Site | None) -> Order:
        raise ValueError(f"{self} of the time in a place, which only an experiment counts: say how long instead, 10us")

    def of(self, name: str, met: Met, least: float) -> Busy:
        """Return the delay that this is at a place.

        Parameters
        ----------
        name : str
            Of the place.
        met : Met
            What was met there. The time inside is of all processors, with waiting, and with the places inside it.
        least : float
            Seconds that the delay is at least.

        Raises
        ------
        ValueError
            When no time was met.
        """
        if not met.inside > 0:
            raise ValueError(
                f"{self} of the time in {name!r}: none was measured, for it is a point of delay(...), or takes none; "
                "enclose what it is about by factor(...), or say how long, 10us"
            )
        return Busy(round(max(self.percent / 100 * met.inside / met.passes, least) * 1e9))


FORMS = "10us, 20%, work:10, sleep:1ms, lock, cell, message, buffer:64KiB"


def treatment(text: str) -> Treatment:
    """Return a treatment by its text: one of `FORMS`.

    Raises
    ------
    ValueError
        For any other text.

    Examples
    --------
    >>> treatment("1.5us"), treatment("work:10"), treatment("buffer:4KiB")
    (Busy(ns=1500), Work(units=10), Buffer(nbytes=4096))
    """
    kind, _, amount = text.strip().replace("\u00b5", "u").replace("\u03bc", "u").rpartition(":")
    plain: dict[str, Treatment] = {"lock": Lock(), "cell": Cell(), "message": Message()}
    if not kind and amount in plain:
        return plain[amount]
    if kind in ("", "busy") and (found := re.fullmatch(_NUMBER + "(ns|us|ms|s)", amount)):
        return Busy(round(float(found[1]) * _SECONDS[found[2]] * 1e9))
    if not kind and (found := re.fullmatch(_NUMBER + "%", amount)):
        return Share(float(found[1]))
    if kind == "sleep" and (found := re.fullmatch(_NUMBER + "(ns|us|ms|s)", amount)):
        return Sleep(float(found[1]) * _SECONDS[found[2]])
    if kind == "work" and amount.isdecimal():
        return Work(int(amount))
    if kind == "buffer" and (found := re.fullmatch(_NUMBER + "([KMG]i?B|B|)", amount)):
        return Buffer(round(float(found[1]) * _OCTETS[found[2]]))
    raise ValueError(f"{text!r} is no treatment: write one of {FORMS}")


def checked(treatments: Mapping[str, Treatment | str | None]) -> dict[str, Treatment]:
    """Return treatments by factor, texts read, those that are None left out.

    Raises
    ------
    TypeError, ValueError
        For what is no treatment, or no name of a factor.
    """
    found: dict[str, Treatment] = {}
    for name, given in treatments.items():
        check_name(name)
        if isinstance(given, str):
            found[name] = treatment(given)
        elif given is not None:
            if not hasattr(given, "order"):
                raise TypeError(f"the treatment of {name!r} is a Busy, Work, ... or one of {FORMS}, not {given!r}")
            found[name] = given
    return found


def check_name(name: object) -> None:
    """Raise where this is no name of a factor."""
    if not isinstance(name, str):
        raise TypeError(f"a factor's name is a string, not {name!r}")
    named([name])


def _check(kind: str, number: float, unit: str, most: float) -> None:
    whole = unit not in ("seconds", "percent")
    if isinstance(number, bool) or not isinstance(number, int | np.integer | (int if whole else float)):
        raise TypeError(f"{kind} takes a {'whole ' if whole else ''}number of {unit}, not {number!r}")
    if not (0 <= number <= most and math.isfinite(number)):
        raise ValueError(f"{kind} takes from 0 to {most:,.0f} {unit}, not {number!r}")


def _timed(name: str) -> int:
    began = time.perf_counter_ns()
    PLACES.enter(name)
    return time.perf_counter_ns() - began
