"""The rows of a comparison: a profile with its conditions, a figure of two machines, and a prediction for two."""

from __future__ import annotations

from typing import Any, NamedTuple

from .changes import Prediction


class Measured(NamedTuple):
    """A profile that is compared, and the conditions under which it was measured.

    Attributes
    ----------
    name : str
        "a" for the base, "b" and so on for the others.
    what : str
        Its machine, and the date of the measurement.
    mode : str or None
    load_before, stolen_fraction, clean_fraction, seconds : float or None
    version : str or None
        Version of smp.
    same : {"", "kind", "computer"}
        "kind" if its hardware has the fingerprint of the base's, "computer" if it has the base's name too.
    busy : bool
        True if other processes used its CPUs.
    hand_over_ns : float or None
        Hand-off of a line between two processors, in the main state of their placement.
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
        Section that holds the figure, name of the figure, and its unit.
    a, b : float
        Values of the base and of the other profile.
    more_is_better : bool
        True for bandwidths, False for times.
    valid : bool
        True if the figure is valid in both profiles.
    name : str
        Name of the other profile: "b", "c" and so on.
    a_error, b_error : float or None
        Standard errors relative to a and b; None if the spread is not known.
    low, high : float or None
        Interval of ``gain``, which excludes 1 exactly if a and b differ significantly.  None if a spread is not known
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
        """The value b divided by the value a."""
        return self.b / self.a

    @property
    def gain(self) -> float:
        """Speed of b relative to a: 2 if b is twice as fast."""
        return self.ratio if self.more_is_better else 1 / self.ratio

    @property
    def known(self) -> bool:
        """True if the spreads of both are known."""
        return self.a_error is not None and self.b_error is not None

    @property
    def told(self) -> str:
        """Return "faster" or "slower" if b differs significantly from a, else ""."""
        if self.low is None or self.high is None:
            return ""
        return "faster" if self.low > 1.0 else "slower" if self.high < 1.0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {**self._asdict(), "gain": self.gain, "told": self.told}


class Foretold(NamedTuple):
    """Predictions of the factored models for one program on two machines, from good to bad.

    Attributes
    ----------
    kernel : str
    n, p : int
    a, b : Prediction
    name : str
        Name of the other machine.
    open : bool
        True if the access patterns of the two may differ: a valid figure of theirs differs significantly, or its
        spread is not known.
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
        """Name of the machine that is faster at both ends of the interval: "a" or the other's; "" if undecided."""
        good, bad = self.gains
        return "" if not self.open else self.name if min(good, bad) > 1.0 else "a" if max(good, bad) < 1.0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as plain JSON, without the values that only a hybrid model gives."""
        ends = {name: {"good_s": one.good, "bad_s": one.bad} for name, one in (("a", self.a), (self.name, self.b))}
        return {"kernel": self.kernel, "n": self.n, "p": self.p, **ends, "faster": self.faster}

    @property
    def gains(self) -> tuple[float, float]:
        """Speed of b relative to a, at the good and at the bad end."""
        return self.a.good / self.b.good, self.a.bad / self.b.bad
