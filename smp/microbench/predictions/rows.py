"""The rows of a comparison: a profile and its conditions, one figure of two machines, one prediction for two."""

from __future__ import annotations

from typing import Any, NamedTuple

from .changes import Prediction


class Measured(NamedTuple):
    """A profile that is compared, and the conditions that it was measured under.

    Attributes
    ----------
    name : str
        "a" for the base, "b" and so on for the others.
    what : str
        Its machine, and when it was measured.
    mode : str or None
    load_before, stolen_fraction, clean_fraction, seconds : float or None
    version : str or None
        Of smp.
    same : {"", "kind", "computer"}
        Whether its hardware has the fingerprint of the base's, and whether it has its name too.
    busy : bool
        Whether other processes had its CPUs.
    hand_over_ns : float or None
        How the CPUs of two processors mostly lay: the hand-over of a line.
    """

    name: str
    what: str
    mode: str | None
    load_before: float | None
    stolen_fraction: float | None
    clean_fraction: float | None
    seconds: float | None
    version: str | None
    same: str
    busy: bool
    hand_over_ns: float | None


class Row(NamedTuple):
    """One figure of two machines.

    Attributes
    ----------
    section, what, unit : str
        Where in a profile it comes from, what it is, and what it is counted in.
    a, b : float
        Of the base and of the other.
    more_is_better : bool
        Of bandwidths; of times, less is.
    valid : bool
        Whether both were measured under conditions that the profiles call valid.
    name : str
        Of the other: "b", "c" and so on.
    a_error, b_error : float or None
        Standard errors relative to a and b; None where the spread is not known.
    low, high : float or None
        Interval of ``gain``, which leaves out 1 exactly where the two are told apart.  None where a spread is not known
        or the row is not valid.
    """

    section: str
    what: str
    unit: str
    a: float
    b: float
    more_is_better: bool
    valid: bool
    name: str = "b"
    a_error: float | None = None
    b_error: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float:
        """b over a."""
        return self.b / self.a

    @property
    def gain(self) -> float:
        """How many times as fast b is as a."""
        return self.ratio if self.more_is_better else 1 / self.ratio

    @property
    def known(self) -> bool:
        """Whether the spreads of both are known."""
        return self.a_error is not None and self.b_error is not None

    @property
    def told(self) -> str:
        """Return "faster" or "slower" where b is told apart from a, and else ""."""
        if self.low is None or self.high is None:
            return ""
        return "faster" if self.low > 1.0 else "slower" if self.high < 1.0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**self._asdict(), "gain": self.gain, "told": self.told}


class Foretold(NamedTuple):
    """What the factored models say of one program on two machines: good to bad.

    Attributes
    ----------
    kernel : str
    n, p : int
    a, b : Prediction
    name : str
        Of the other machine.
    open : bool
        Whether the access patterns of the two may differ: not where none of their figures is valid and told apart.
    """

    kernel: str
    n: int
    p: int
    a: Prediction
    b: Prediction
    name: str = "b"
    open: bool = True

    @property
    def faster(self) -> str:
        """Which is faster at both ends of the interval: "a", the other's name, or "" where that is not decided."""
        good, bad = self.gains
        return "" if not self.open else self.name if min(good, bad) > 1.0 else "a" if max(good, bad) < 1.0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; without what only a hybrid model tells."""
        ends = {name: {"good_s": one.good, "bad_s": one.bad} for name, one in (("a", self.a), (self.name, self.b))}
        return {"kernel": self.kernel, "n": self.n, "p": self.p, **ends, "faster": self.faster}

    @property
    def gains(self) -> tuple[float, float]:
        """How many times as fast b is as a, at the good and at the bad end."""
        return self.a.good / self.b.good, self.a.bad / self.b.bad
