"""Treatments of a place: delays and other disturbances (section 2.1.1). No treatment changes the program's results.

    Busy(ns)        "10us"            keeps the CPU busy for this time, by the clock
    Work(units)     "work:10"         does this many dependent floating-point multiplications: the paper's delay(X)
    Sleep(seconds)  "sleep:1ms"       gives up the CPU for this time
    Lock()          "lock"            takes and releases a lock that all threads of the process share
    Cell()          "cell"            takes and refills a cell that all processors share
    Message()       "message"         writes a word to a cell of the next processor
    Buffer(nbytes)  "buffer:64KiB"    takes a buffer, touches its pages and gives it back
    Share(percent)  "20%"             Busy for this share of the mean time of a pass of the place; in experiments only
    Stretch(percent)  "stretch:20%"   keeps the CPU busy, at the end of each pass, for this share of its time

All treatments except Stretch work in Python and in compiled loops. Busy, Work, Lock and Buffer run the same machine
code in both. In Python, these four keep the interpreter lock meanwhile, as slower Python code would. Cell and Message
need a machine: outside its programs they do what Lock does. In its programs, a compiled loop calls back into Python for
them, which takes about a microsecond and the interpreter lock.

On an emulated machine Busy, Work, Sleep, Lock and Buffer take virtual time, exactly the same at every place. Cell and
Message carry out their cell operations there, step by step. In a loop over local data, which makes no steps, they take
virtual time instead.
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

from .counting import Met
from .factors import check_name
from .site import Site
from .stretching import Stretched

_VIRTUAL_UNIT, _VIRTUAL_LOCK, _VIRTUAL_BYTES = 4, 16, 10  # ns of a unit; ns of two locked instructions; bytes per ns
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_OCTETS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?) *"
LONGEST = 3600.0
"""Longest time of one treatment, in seconds."""


class Treatment(Protocol):
    """A treatment of a place. ``str`` converts it to a text that `treatment` reads."""

    @property
    def seconds(self) -> float:
        """Seconds that it takes if no other thread is in the way; NaN if that is not known beforehand."""

    def order(self, site: Site | None) -> Order:
        """Return the order to install in the process; ``site`` is given within a program of a machine."""


class _Unforeseen:
    @property
    def seconds(self) -> float:
        return math.nan


@dataclass(frozen=True)
class Busy:
    """Keep the CPU busy for the given number of nanoseconds by the clock, and about 20 more to read the clock."""

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
    """Do the given number of units of work: dependent floating-point multiplications and additions. See `unit_ns`."""

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
        """Return the nanoseconds that one unit takes here: the least of several measurements, made once per process.

        On an emulated machine a unit takes 4 ns.
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
    """Give up the CPU for the given number of seconds; the system adds about 50 us."""

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
    """Take and release a lock: one lock for all places and all threads of the process."""

    def __str__(self) -> str:
        return "lock"

    def order(self, site: Site | None) -> Order:
        return Order(LOCK, 0, _VIRTUAL_LOCK)


@dataclass(frozen=True)
class Cell(_Unforeseen):
    """Take and refill a cell (readfe, writeef): one cell for all places of all processors."""

    def __str__(self) -> str:
        return "cell"

    def order(self, site: Site | None) -> Order:
        return Lock().order(None) if site is None else Order(CALL, 0, _VIRTUAL_LOCK, site.take_and_leave)


@dataclass(frozen=True)
class Message(_Unforeseen):
    """Send a dummy message (writexf): a word, written to a cell of the next processor, that no thread reads."""

    def __str__(self) -> str:
        return "message"

    def order(self, site: Site | None) -> Order:
        return Lock().order(None) if site is None else Order(CALL, 0, _VIRTUAL_LOCK, site.send)


@dataclass(frozen=True)
class Buffer(_Unforeseen):
    """Take a temporary buffer of the given number of bytes from the system, write to each page, and give it back."""

    nbytes: int

    def __post_init__(self) -> None:
        _check("Buffer", self.nbytes, "bytes", 1 << 40)

    def __str__(self) -> str:
        return f"buffer:{self.nbytes}B"

    def order(self, site: Site | None) -> Order:
        return Order(BUFFER, int(self.nbytes), int(self.nbytes) // _VIRTUAL_BYTES)


@dataclass(frozen=True)
class Stretch(_Unforeseen):
    """At the end of each pass of a place, keep the CPU busy for a share of the time that this pass took.

    So long passes are delayed for longer than short ones, as in slow motion. The time of a pass includes waiting, and
    inner places without their delays. A point of `delay` has no end, so nothing happens there.

    On the host a pass that the system interrupts is delayed for that time, too. Where other programs do so, `Share` of
    the mean time gives results with less noise.
    """

    percent: float

    def __post_init__(self) -> None:
        _check_share("Stretch", self.percent)

    def __str__(self) -> str:
        return f"stretch:{self.percent:.12g}%"

    def order(self, site: Site | None) -> Order:
        return Order(BUSY, 0, 0, end=Stretched(self.percent / 100))  # nothing when it is entered

    def mean(self, name: str, met: Met) -> float:
        """Return the mean seconds of a delay, given the counts of the place; ValueError if no time was measured."""
        return self.percent / 100 * _mean_pass(self, name, met)


@dataclass(frozen=True)
class Share(_Unforeseen):
    """Keep the CPU busy for a share of the mean time that a pass of the place takes.

    It delays each place in proportion, for programs whose places take times of different orders of magnitude. Only an
    experiment can use it, because it counts the places in a run first.
    """

    percent: float

    def __post_init__(self) -> None:
        _check_share("Share", self.percent)

    def __str__(self) -> str:
        return f"{self.percent:.12g}%"

    def order(self, site: Site | None) -> Order:
        raise ValueError(
            f"only an experiment measures the time in a place, so {self} of it is unknown: give a length, such as 10us"
        )

    def of(self, name: str, met: Met, least: float) -> Busy:
        """Return this share as a delay at a place.

        Parameters
        ----------
        name : str
            Name of the place.
        met : Met
            Counts of the place. The time inside is that of all processors, with waiting and with inner places.
        least : float
            Least length of the delay, in seconds.

        Raises
        ------
        ValueError
            If no time was measured in the place.
        """
        return Busy(round(max(self.percent / 100 * _mean_pass(self, name, met), least) * 1e9))


FORMS = "10us, 20%, stretch:20%, work:10, sleep:1ms, lock, cell, message, buffer:64KiB"


def treatment(text: str) -> Treatment:
    """Return the treatment that a text describes, in one of the `FORMS`.

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
    if kind in ("", "stretch") and (found := re.fullmatch(_NUMBER + "%", amount)):
        return (Stretch if kind else Share)(float(found[1]))
    if kind == "sleep" and (found := re.fullmatch(_NUMBER + "(ns|us|ms|s)", amount)):
        return Sleep(float(found[1]) * _SECONDS[found[2]])
    if kind == "work" and amount.isdecimal():
        return Work(int(amount))
    if kind == "buffer" and (found := re.fullmatch(_NUMBER + "([KMG]i?B|B|)", amount)):
        return Buffer(round(float(found[1]) * _OCTETS[found[2]]))
    raise ValueError(f"{text!r} is not a treatment: write one of {FORMS}")


def checked(treatments: Mapping[str, Treatment | str | None]) -> dict[str, Treatment]:
    """Return treatments by factor, with texts converted to treatments; factors whose treatment is None are left out.

    Raises
    ------
    TypeError, ValueError
        If a value is not a treatment, or a key is not a valid name of a factor.
    """
    found: dict[str, Treatment] = {}
    for name, given in treatments.items():
        check_name(name)
        if isinstance(given, str):
            found[name] = treatment(given)
        elif given is not None:
            if not hasattr(given, "order"):
                raise TypeError(f"the treatment of {name!r} must be a Busy, Work, ... or one of {FORMS}, not {given!r}")
            found[name] = given
    return found


def _check(kind: str, number: float, unit: str, most: float) -> None:
    whole = unit not in ("seconds", "percent")
    if isinstance(number, bool) or not isinstance(number, int | np.integer | (int if whole else float)):
        raise TypeError(f"{kind} takes a {'whole ' if whole else ''}number of {unit}, not {number!r}")
    if not (0 <= number <= most and math.isfinite(number)):
        raise ValueError(f"{kind} takes 0 to {most:,.0f} {unit}, not {number!r}")


def _check_share(kind: str, percent: float) -> None:
    _check(kind, percent, "percent", 1e6)
    if not percent:
        raise ValueError("a share of 0% is not a treatment: take more")


def _mean_pass(one: Share | Stretch, name: str, met: Met) -> float:
    """Return the mean seconds of a pass."""
    if not met.inside > 0:
        raise ValueError(
            f"{one} of the time in {name!r} is not a delay, because no time was measured there: it is a point of "
            "delay(...), or takes no time; enclose its code in factor(...), or give a length, such as 10us"
        )
    return met.inside / met.passes


def _timed(name: str) -> int:
    began = time.perf_counter_ns()
    PLACES.enter(name)
    return time.perf_counter_ns() - began
