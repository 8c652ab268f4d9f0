"""The parts of a library: an implementation, its parameter, the choice of one, and the guard before the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models.fit.optimum import integer_minimum


@dataclass(frozen=True)
class Parameter:
    """A parameter of an implementation whose value is set with the help of a model.

    Attributes
    ----------
    name : str
        Name of the keyword that the implementation takes, which is also an input of its model.
    text : str
        Range that is measured; see `smp.models.fit.inputs.Input.parse`.
    bottom, top : int, or callable of the library's inputs
        First and last of the steps among which the best one is searched for.
    value : callable, optional
        ``value(step, *inputs)`` returns the parameter at a step; by default it is the step itself.  The predicted time
        must first fall and then rise with the step.  For the width of a digit, for example, take the number of
        iterations as the step, and for a power of two its exponent.
    """

    name: str
    text: str
    bottom: int | Callable[..., int]
    top: int | Callable[..., int]
    value: Callable[..., int] | None = None

    def ends(self, inputs: Sequence[float]) -> tuple[int, int]:
        """Return the first and the last step."""
        bottom, top = (end if isinstance(end, int) else int(end(*inputs)) for end in (self.bottom, self.top))
        return bottom, top

    def at(self, step: int, inputs: Sequence[float]) -> int:
        """Return the value of the parameter at a step."""
        return step if self.value is None else int(self.value(step, *inputs))

    def best_step(self, predict: Callable[..., float], inputs: Sequence[float]) -> int:
        """Return the step at which ``predict(*inputs, value)`` is smallest."""
        value = self.value
        if value is None:
            return integer_minimum(*self.ends(inputs), lambda step: predict(*inputs, step))
        return integer_minimum(*self.ends(inputs), lambda step: predict(*inputs, value(step, *inputs)))

    def best(self, predict: Callable[..., float], inputs: Sequence[float]) -> int:
        """Return the value at which ``predict(*inputs, value)`` is smallest."""
        return self.at(self.best_step(predict, inputs), inputs)


@dataclass(frozen=True)
class Implementation:
    """One of a library's implementations.

    Attributes
    ----------
    name : str
    function : callable
        Takes the library's arguments, and its parameter as a keyword.  It must not change the arguments, because other
        implementations are timed with the same ones.
    terms : sequence or mapping of expressions
        Terms on which its time may depend; see `smp.models.fit.specification.Specification`.
    when : str
        Condition on the inputs.  If it does not hold, the implementation must not be chosen.  A condition that names
        the parameter bounds the parameter's values, and does not bind the rule.
    parameter : Parameter or None
    """

    name: str
    function: Callable[..., Any]
    terms: Sequence[str] | Mapping[str, str]
    when: str = ""
    parameter: Parameter | None = None


@dataclass(frozen=True)
class Choice:
    """The implementation that a library would call.

    Attributes
    ----------
    name : str
        Name of the implementation.
    keywords : dict
        Its parameter with the best value; empty if it has none.
    seconds : float
        Predicted seconds; NaN if a rule has decided.
    outside : str
        Text on the inputs that lie outside the calibrated ranges, so that the edges of the ranges have decided; empty
        if there are none.
    factors : dict of name to float
        Factors above 1 by which predictions were multiplied, because recent calls of these implementations took longer
        than predicted.  ``seconds`` contains the factor of the chosen implementation.

    Examples
    --------
    >>> print(Choice("blocked", {"depth": 8}, 0.0123, "n = 5e+07 is outside the calibrated range 100 to 1e+06"))
    blocked, depth = 8: 0.0123 s predicted; n = 5e+07 is outside the calibrated range 100 to 1e+06
    >>> print(Choice("one stream", {}, 0.0123, factors={"two streams": 1.8}))
    one stream: 0.0123 s predicted; recent calls took longer than predicted: 'two streams' 1.8 times
    """

    name: str
    keywords: dict[str, int]
    seconds: float
    outside: str = field(default="", compare=False)
    factors: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        called = ", ".join([self.name, *(f"{name} = {value}" for name, value in self.keywords.items())])
        said = "by the rule" if self.seconds != self.seconds else f"{self.seconds:.3g} s predicted"
        slow = ", ".join(f"{name!r} {factor:.2g} times" for name, factor in self.factors.items())
        recent = f"recent calls took longer than predicted: {slow}" if slow else ""
        return "; ".join([f"{called}: {said}", *filter(None, (self.outside, recent))])


@dataclass(frozen=True)
class Guard:
    """Bound of the size of a call, below which a library's models are not asked.

    Attributes
    ----------
    size : str
        The size of a call, as an expression of the library's inputs.
    default : float
        Size from which the models are asked, if a calibration has not determined it.
    plain : str, optional
        Name of the implementation that is called below; by default the one that the library's rule names.
    spared : str, optional
        Condition on the inputs under which callers need only a glance at the arguments; see `Library.remembered`.
    """

    size: str
    default: float
    plain: str | None = None
    spared: str = "0"
