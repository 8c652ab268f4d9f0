"""The kinds of settings that a machine file may have, with the values that each kind allows.

Number    a number with a unit, a least value, and perhaps whole numbers only
Several   a list of such numbers
Choice    one of several words
Flag      true or false
Text      any text
Group     a table in the table, with settings of its own
Entries   a table with any number of entries, each with terms of its own
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from .closest import advice
from .units import in_base, units_of

LARGEST = 1e15
"""No number is larger, so that sums of products of numbers stay exact enough."""


class Refused(Exception):
    """A value that a file may not have.

    Parameters
    ----------
    fact : str
        The sentence that follows the name of the value: ``"is -1; it must be ..."``.
    *path : str
        Keys that lead to the value.
    """

    def __init__(self, fact: str, *path: str) -> None:
        super().__init__(fact)
        self.fact, self.path = fact, path


def short(value: Any) -> str:
    """Return a value as it is shown in a message, on one line and not too long."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # a whole number with too many digits for text
        return "a number of thousands of digits"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 40


def wrong(value: Any, allowed: str, hint: str = "") -> Refused:
    """Return the refusal of a value, with what is allowed in its place."""
    return Refused(f"is {short(value)}; it must be {allowed}{f' ({hint})' if hint else ''}")


@dataclass(frozen=True)
class Number:
    """A number that may have a unit.

    Parameters
    ----------
    unit : str
        Base unit; empty for a number without a unit.
    least : float
        Least value.
    whole : bool
        True if only whole numbers are allowed.
    of : str
        Text for the things that a number without a unit counts.
    """

    unit: str = ""
    least: float = 0.0
    whole: bool = False
    of: str = ""
    hint: str = ""

    @property
    def allowed(self) -> str:
        """The values that are allowed, as text."""
        things = f" of {self.of or self.unit}" if self.of or self.unit else ""
        from_least = f", {self.least:g} or more" if self.least > -LARGEST else ""
        return f"a {'whole ' * self.whole}number{things}{from_least}"

    def read(self, value: Any, unit: str | None, hz: float) -> int | float:
        """Return the number in its base unit."""
        if isinstance(value, bool) or not isinstance(value, Real):  # also a number of NumPy
            raise wrong(value, self.allowed, self._about_texts(value))
        value = int(value) if isinstance(value, Integral) else float(value)
        if unit is not None and unit not in units_of(self.unit):
            raise Refused(f"has the unit {short(unit)}; {self._about_units(unit)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong(value, self.allowed)
        if abs(value) > LARGEST:
            raise wrong(value, f"{self.allowed}, and at most {LARGEST:g}")
        made = value if unit is None else in_base(value, unit, self.unit, hz)
        if made < self.least:
            raise wrong(value, self.allowed, self.hint if made == 0 else "")
        if made > LARGEST:
            raise wrong(value, f"{self.allowed}, and at most {LARGEST:g}")
        if self.whole and made != int(made):
            raise wrong(value, self.allowed)
        return int(made) if made == int(made) else made

    def _about_units(self, unit: str) -> str:
        units = units_of(self.unit)
        if not units:
            return "it is a number without a unit: leave the unit out"
        return f"the units allowed here are {', '.join(units)}{advice(unit, units)}"

    def _about_texts(self, value: Any) -> str:
        if not isinstance(value, str) or not units_of(self.unit):
            return ""
        return f'a number with a unit is written {{ value = 2, unit = "{units_of(self.unit)[1]}" }}'


@dataclass(frozen=True)
class Several:
    """A list of numbers, all with the same unit."""

    each: Number

    @property
    def allowed(self) -> str:
        """The values that are allowed, as text."""
        return f"a list, and each part of it {self.each.allowed}"

    def read(self, value: Any, unit: str | None, hz: float) -> tuple[int | float, ...]:
        """Return the numbers in their base unit."""
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise wrong(value, self.allowed)
        return tuple(self.each.read(one, unit, hz) for one in value)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The values that are allowed, as text."""
        return f"one of {', '.join(map(repr, self.words))}"

    def read(self, value: Any, unit: str | None, hz: float) -> str:
        """Return the word."""
        if unit is not None:
            raise Refused(f"has the unit {short(unit)}, but it is a word: leave the unit out")
        if not isinstance(value, str) or value not in self.words:
            raise Refused(f"{wrong(value, self.allowed).fact}{advice(value, self.words)}")
        return value


@dataclass(frozen=True)
class Flag:
    """A truth value."""

    allowed: str = "true or false"

    def read(self, value: Any, unit: str | None, hz: float) -> bool:
        """Return the truth value."""
        if unit is not None:
            raise Refused(f"has the unit {short(unit)}, but it is true or false: leave the unit out")
        if not isinstance(value, bool):
            raise wrong(value, self.allowed)
        return value


@dataclass(frozen=True)
class Text:
    """A text, which has no source of its own."""

    allowed: str = "a text that is not empty"

    def read(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value.strip():
            raise wrong(value, self.allowed)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise wrong(value, "a text that UTF-8 can encode") from None
        return value


@dataclass(frozen=True)
class Group:
    """A table with settings of its own, which are the fields of a class."""

    of: type


@dataclass(frozen=True)
class Entries:
    """A table with any number of entries: loops with their times, or published results."""

    published: bool


Leaf = Number | Several | Choice | Flag
Kind = Leaf | Text | Group | Entries

CYCLES = Number("cycles")
BYTES = Number("bytes", least=1, whole=True)
RATE = Number("bytes/s", least=1, hint="where bandwidth has no limit, the network is of the kind 'ideal'")
FLAG = Flag()


def number_of(of: str, least: int = 1) -> Number:
    """Return a setting that counts things in whole numbers."""
    return Number(least=least, whole=True, of=of)


def setting(kind: Kind, meaning: str, **default: Any) -> Any:
    """Return the field of a setting. Without a default, a file must have it.

    Parameters
    ----------
    kind : Kind
    meaning : str
        What the setting is, for messages and for the table of all keys.
    **default
        ``default=``, or nothing.
    """
    return field(metadata={"kind": kind, "meaning": meaning}, **default)


def table(of: type, meaning: str) -> dict[str, Any]:
    """Return the metadata of a field that is a table with settings of its own, which are the fields of a class."""
    return {"kind": Group(of), "meaning": meaning}


def entries(published: bool, meaning: str) -> dict[str, Any]:
    """Return the metadata of a field that is a table with any number of entries."""
    return {"kind": Entries(published), "meaning": meaning}
