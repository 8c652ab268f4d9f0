"""Libraries of implementations of one interface, which choose the one that is predicted to be the fastest.

    call's arguments  --of-->  inputs  --models-->  predicted seconds of each  -->  the smallest  -->  call it

If an implementation has a parameter, the parameter's best value is found first.  Then the choice is made among the
implementations with their best values.  A rule decides if there are no models, or if no implementation applies and has
a usable prediction.  By default, the rule takes the first implementation that applies.  Outside the calibrated ranges,
predictions are held to the edges (see `edges`), and a warning says so once.  A library times its own calls, and for a
few seconds corrects the prediction of an implementation that takes longer than predicted (see `recent`).

Source: Brewer, Portable High-Performance Supercomputing, chapters 4 and 5.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from ..errors import ModelError
from ..models.fit.expressions import python_function
from ..models.fit.inputs import parsed
from ..models.fit.model import Model
from ..models.fit.specification import Specification
from .compiled import UNDEFINED, Find, compiled_choice
from .edges import ExtrapolationWarning, at_edges, growth, outside
from .implementation import Choice, Guard, Implementation, Parameter
from .recent import Recent, is_on

FORMAT, VERSION = "smp-library", 1
MOST_KNOWN = 1024
"""Number of inputs whose predictions a library remembers."""


def typical(size: float, most: float) -> float:
    """Return the middle of the eighth of an octave in which a size lies, so that predictions can be remembered.

    It is at most ``most``, the largest calibrated size.
    """
    return min(most, 2 ** ((int(8 * math.log2(size)) + 0.5) / 8))


class Library:
    """Implementations of one interface. Calling the library calls the one that is predicted to be the fastest.

    Parameters
    ----------
    name : str
    inputs : mapping of name to text
        Inputs on which times depend, with the ranges to calibrate over; see `smp.models.fit.inputs.Input.parse`.
    of : callable
        Takes the arguments of a call and returns the values of the inputs, in order.
    setup : callable, optional
        Returns the arguments of a call with the given inputs, for calibration; see `Specification`.  By default, the
        arguments are the inputs themselves.
    cleanup : callable, optional
    rule : callable, optional
        Takes the values of the inputs and returns the name of an implementation.  It decides if there are no models, or
        if none of them has a usable prediction.
    points : int, optional
        Most points of the loop nest that are measured.
    loops : mapping of name to text, optional
        Loop nest of the calibration, if it does not run over the inputs but over other values from which ``setup``
        makes the data.  The inputs' values then come from ``of``.
    guard : Guard, optional
        Size below which callers do not ask the library, because the choice would take longer than it saves.
    correct : bool
        Correct predictions by the times of recent calls, unless the environment variable ``SMP_CORRECTION`` is 0.  Give
        False if the choice must depend on the arguments and models alone.

    Attributes
    ----------
    models : dict of implementation's name to Model
        Model of each implementation; empty until the library is calibrated.
    worth : float
        Size from which callers should ask the library: the one that the calibration has determined, or the guard's
        default.  It is 0 without a guard, and infinite if the choice never pays.
    correct : bool
        True while predictions are corrected; it may be set at any time.

    Examples
    --------
    >>> import numpy as np, smp
    >>> total = smp.Library("total", {"n": "10..1e5 x 5"}, lambda a: (a.size,), setup=lambda n: (np.ones(n),))
    >>> @total.implementation(["n"])
    ... def by_loop(a):
    ...     return sum(a.tolist())
    >>> @total.implementation(["n"])
    ... def by_numpy(a):
    ...     return float(a.sum())
    >>> smp.calibrate(total, verification=5).choose(100_000)
    'by_numpy'
    >>> total(np.ones(10**6))
    1000000.0
    """

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, str],
        of: Callable[..., tuple[float, ...]],
        *,
        setup: Callable[..., tuple[Any, ...]] | None = None,
        cleanup: Callable[..., Any] | None = None,
        rule: Callable[..., str] | None = None,
        points: int | None = None,
        loops: Mapping[str, str] | None = None,
        guard: Guard | None = None,
        correct: bool = True,
    ) -> None:
        self.name, self.inputs, self.of, self.loops = name, dict(inputs), of, loops
        self.setup, self.cleanup, self.points = setup, cleanup, points
        self.rule, self.guard = rule or self._first, guard
        self.worth = 0.0 if guard is None else guard.default
        self.ranges = parsed(inputs)
        self.implementations: dict[str, Implementation] = {}
        self.models: dict[str, Model] = {}
        self.correct, self._recent = correct and is_on(), Recent()
        self._find: Find | None = None
        self._known: dict[tuple[float, ...], list[Choice]] = {}
        self._warned = False
        self._applies: dict[str, Callable[..., float]] = {}

    def __repr__(self) -> str:
        state = "calibrated" if self.models else "not calibrated"
        return f"<library {self.name}: {', '.join(self.implementations)}; {state}>"

    def add(self, *made: Implementation) -> None:
        """Add implementations, and drop the library's models.

        Raises
        ------
        ModelError
            If an implementation's name is taken, if its terms or condition cannot be parsed, or if its parameter has
            the name of an input.
        """
        names = [given.name for given in self.ranges]
        for each in made:
            if each.name in self.implementations:
                raise ModelError(f"the library {self.name} already has an implementation {each.name!r}")
            if each.parameter is not None and each.parameter.name in names:
                raise ModelError(f"the parameter {each.parameter.name!r} of {each.name} has the name of an input")
            condition = self._specification(each).condition
            binding = condition is not None and condition.names <= set(names)
            text = condition.python if condition is not None and binding else "1"
            self.models, self._find, self._known = {}, None, {}
            self._applies[each.name] = python_function("applies", names, text)
            self.implementations[each.name] = each

    def implementation(
        self, terms: Sequence[str] | Mapping[str, str], when: str = "", parameter: Parameter | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that adds a function as an implementation under its own name; see `Implementation`."""

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(Implementation(function.__name__, function, terms, when, parameter))
            return function

        return added

    def specifications(self) -> Iterator[Specification]:
        """Return the specifications to calibrate, one for each implementation, named ``library/implementation``."""
        return (self._specification(each) for each in self.implementations.values())

    def _specification(self, each: Implementation) -> Specification:
        own = {} if each.parameter is None else {each.parameter.name: each.parameter.text}
        return Specification(
            f"{self.name}/{each.name}",
            self.inputs | own,
            each.terms,
            each.function,
            self.setup,
            self.cleanup,
            each.when,
            tuple(own),
            self.points,
            None if self.loops is None else {**self.loops, **own},
            None if self.loops is None else self.of,
        )

    def use(self, models: Mapping[str, Model]) -> None:
        """Choose by the given models from now on. Their names are those of `specifications`.

        `worth` is the guard's default again, because a calibrated one belongs to the models that were there before.

        Raises
        ------
        ModelError
            If a model is missing or has other inputs.
        """
        found = {}
        for specification in self.specifications():
            model = models.get(specification.name)
            names = tuple(specification.inputs)
            if model is None or model.names != names:
                raise ModelError(
                    f"no model of {specification.name}({', '.join(names)}) was given: calibrate the library again"
                )
            found[specification.name.removeprefix(f"{self.name}/")] = model
        self.models, self._find, self._known = found, None, {}
        self.forget()
        self.worth = 0.0 if self.guard is None else self.guard.default

    def choose(self, *inputs: float) -> str:
        """Return the name of the implementation to call; see `best`."""
        if not self.models:
            return self.rule(*inputs)
        at = (self._find or self._compiled())(*inputs, self._factors())[0]
        return self.rule(*inputs) if at < 0 else self._names[at]

    def best(self, *inputs: float) -> Choice:
        """Return the implementation to call, with its parameter and its predicted time.

        Parameters
        ----------
        *inputs : float
            Values of the inputs, in order.  A model that predicts no more than its least seconds (`Model.least`) is
            left out, because its formula does not hold there.

        Warns
        -----
        ExtrapolationWarning
            At the first call with a size above its range.

        Notes
        -----
        A value below its range is replaced by the lower end of the range, because models are not reliable towards zero.
        Above the range, a model is asked at the upper end, with the parameter that is best there.  For a size, its
        seconds then grow by the power with which they grow over the last doubling of the range; see
        `smp.selection.edges`.  `Choice.outside` names the inputs that lie outside.

        The prediction of an implementation whose recent calls took longer than predicted is multiplied by a factor,
        see `Choice.factors`.

        The choice takes less than a microsecond per implementation.  An implementation with a parameter needs
        2 log2(steps) further predictions.
        """
        if self.models:
            factors = self._factors()
            at, value, seconds, beyond = (self._find or self._compiled())(*inputs, factors)
            if at >= 0:
                name = self._names[at]
                parameter = self.implementations[name].parameter
                text = outside(self.ranges, inputs) if beyond else ""
                return Choice(name, {} if parameter is None else {parameter.name: value}, seconds, text, factors)
        return Choice(self.rule(*inputs), {}, math.nan)

    def predictions(self, *inputs: float) -> dict[str, Choice]:
        """Return the predicted time of each implementation with its best parameter.

        The time of an implementation is infinite if it does not apply, and NaN if a term of its model is not defined
        for these inputs.  Outside the calibrated ranges it is held to the edges; see `best`.  These are the predictions
        of the models, without the factors of recent calls.
        """
        held, text = self.held(*inputs), outside(self.ranges, inputs)
        made = {}
        for name, model in self.models.items():
            if not self._applies[name](*inputs):
                made[name] = Choice(name, {}, math.inf)
                continue
            parameter = self.implementations[name].parameter
            try:
                own = {} if parameter is None else {parameter.name: parameter.best(model.predict, held)}
                factor = growth(model.predict, self.ranges, inputs, own) if text else 1.0
                made[name] = Choice(name, own, model.predict(*held, *own.values()) * factor, text)
            except UNDEFINED:
                made[name] = Choice(name, {}, math.nan)
        return made

    def remembered(self, *inputs: float) -> Choice:
        """Return what `best` returns, by predictions that are remembered for the same inputs until the models change.

        Parameters
        ----------
        *inputs : float
            Values of the inputs, in order, rounded so that they come again: `MOST_KNOWN` are remembered.
        """
        all_known = self._known  # of the models that are asked here, even if another thread gives others meanwhile
        known = all_known.get(inputs)
        if known is None:
            usable = [each for each in self.predictions(*inputs).values() if self._is_usable(each)]
            if len(all_known) >= MOST_KNOWN:
                all_known.clear()
            known = all_known[inputs] = sorted(usable, key=lambda each: each.seconds)
        if not known or known[0].outside:
            return self.best(*inputs)
        if not (factors := self._factors()):
            return known[0]
        best = min(known, key=lambda each: each.seconds * factors.get(each.name, 1.0))
        return Choice(best.name, best.keywords, best.seconds * factors.get(best.name, 1.0), "", factors)

    def _is_usable(self, prediction: Choice) -> bool:
        return self.models[prediction.name].least < prediction.seconds < math.inf

    def held(self, *inputs: float) -> list[float]:
        """Return the inputs for the models: values outside their ranges are moved to the nearer end."""
        return at_edges(self.ranges, inputs)

    def note(self, chosen: Choice, seconds: float) -> None:
        """Remember the time of a call, so that it corrects predictions for a few seconds.

        A library notes its own calls.  Code that only asks for the `best` implementation, and calls it itself, may
        note them here.

        Parameters
        ----------
        chosen : Choice
            The implementation that was called, as `best` has returned it.
        seconds : float
            Seconds of the call.
        """
        if self.correct and not chosen.outside:
            predicted = chosen.seconds / chosen.factors.get(chosen.name, 1.0)
            self._recent.note(chosen.name, predicted, seconds, perf_counter())

    def forget(self) -> None:
        """Forget the times of all calls."""
        self._recent.forget()

    def _factors(self) -> dict[str, float]:
        """Return the factors by which predictions are corrected now."""
        return self._recent.factors(perf_counter()) if self.correct and self._recent.slow else {}

    def _beyond(self, inputs: Sequence[float], factors: Mapping[str, float]) -> tuple[int, int, float, bool]:
        """Return what the compiled choice returns, for inputs of which some size lies above its range."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: {outside(self.ranges, inputs)}; predictions are held to the edges of the ranges, and "
                "the choice may be wrong. Calibrate over larger ranges, or name the algorithm",
                ExtrapolationWarning,
                stacklevel=4,
            )
        found: tuple[int, int, float, bool] = -1, 0, math.inf, True
        for k, (name, each) in enumerate(self.predictions(*inputs).items()):
            seconds = each.seconds * factors.get(name, 1.0)
            if self._is_usable(each) and seconds < found[2]:
                found = k, next(iter(each.keywords.values()), 0), seconds, True
        return found

    def __call__(self, *arguments: Any) -> Any:
        """Call the implementation that is predicted to be the fastest."""
        return self.call(self.best(*self.of(*arguments)), *arguments)

    def call(self, chosen: Choice, *arguments: Any) -> Any:
        """Call an implementation that `best` or `remembered` has chosen, note the time, and return the result."""
        began = perf_counter()
        made = self.implementations[chosen.name].function(*arguments, **chosen.keywords)
        self.note(chosen, perf_counter() - began)
        return made

    def _first(self, *inputs: float) -> str:
        """Return the name of the first implementation that applies. This is the default rule."""
        for name, applies in self._applies.items():
            if applies(*inputs):
                return name
        told = dict(zip(self.inputs, inputs, strict=True))
        raise ModelError(f"no implementation of {self.name} applies to {told}: add one that does")

    def _compiled(self) -> Find:
        self._names = list(self.models)
        self._find = compiled_choice(self.ranges, self.models, self.implementations, self._applies, self._beyond)
        return self._find

    def to_json(self, samples: bool = False) -> dict[str, Any]:
        """Return the models as plain JSON, with or without the samples from which they were made."""
        models = {name: model.to_json(samples) for name, model in self.models.items()}
        made = {"format": FORMAT, "version": VERSION, "name": self.name, "models": models}
        if self.guard is None or not models:
            return made
        return made | {"guard": {"size": self.guard.size, "from": self.worth if self.worth < math.inf else None}}

    def use_json(self, data: Mapping[str, Any]) -> None:
        """Choose from now on by models that `to_json` has returned.

        Raises
        ------
        ModelError
            If the data are damaged or belong to another library, or if this library has changed since.
        """
        stated = data if isinstance(data, Mapping) else {}
        wanted = {"format": FORMAT, "version": VERSION, "name": self.name}
        if wanted != {key: stated.get(key) for key in wanted} or not isinstance(stated.get("models"), Mapping):
            raise ModelError(f"this is not a calibration of the library {self.name}: calibrate it again")
        self.use({f"{self.name}/{name}": Model.from_json(model) for name, model in data["models"].items()})
        found = data.get("guard")
        if self.guard is not None and found is not None and found["size"] == self.guard.size:
            self.worth = math.inf if found["from"] is None else found["from"]
