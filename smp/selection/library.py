"""A library: implementations of one interface, and the choice of the one that is predicted to be the fastest.

    call's arguments  --of-->  inputs  --models-->  predicted seconds of each  -->  the smallest  -->  call it

Where an implementation has a parameter, its best value is found first, then the choice is made among the optimised.
Without models, or where no condition holds, a rule decides; by default the first implementation that applies.

Source: Brewer, Portable High-Performance Supercomputing, chapters 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..models.fit.expressions import compiled_function, python_function
from ..models.fit.inputs import parsed
from ..models.fit.model import Model
from ..models.fit.optimum import integer_minimum
from ..models.fit.specification import Specification

FORMAT, VERSION = "smp-library", 1


@dataclass(frozen=True)
class Parameter:
    """A parameter of an implementation that a model sets.

    Attributes
    ----------
    name : str
        The keyword that the implementation takes, and an input of its model.
    text : str
        The range that is measured, see `smp.models.fit.inputs.Input.parse`.
    bottom, top : int, or callable of the library's inputs
        Steps between which the best is looked for.
    value : callable, optional
        ``value(step, *inputs)``: the parameter at a step; by default the step itself.  The predicted time must first
        fall and then rise with the step: take iterations for a digit's width, or an exponent of two.
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
        """Return the parameter at a step."""
        return step if self.value is None else int(self.value(step, *inputs))

    def best_step(self, predict: Callable[..., float], inputs: Sequence[float]) -> int:
        """Return the step at which ``predict(*inputs, value)`` is least."""
        value = self.value
        if value is None:
            return integer_minimum(*self.ends(inputs), lambda step: predict(*inputs, step))
        return integer_minimum(*self.ends(inputs), lambda step: predict(*inputs, value(step, *inputs)))

    def best(self, predict: Callable[..., float], inputs: Sequence[float]) -> int:
        """Return the value at which ``predict(*inputs, value)`` is least."""
        return self.at(self.best_step(predict, inputs), inputs)


@dataclass(frozen=True)
class Implementation:
    """One way to do what a library does.

    Attributes
    ----------
    name : str
    function : callable
        Takes the library's arguments, and its parameter as a keyword; must leave the arguments as they are, for others
        are timed with the same.
    terms : sequence or mapping of expressions
        What its time may depend on, see `smp.models.fit.specification.Specification`.
    when : str
        The condition on the inputs outside which it must not be chosen.  One that names the parameter keeps its values
        in bounds, and does not bind the rule.
    parameter : Parameter or None
    """

    name: str
    function: Callable[..., Any]
    terms: Sequence[str] | Mapping[str, str]
    when: str = ""
    parameter: Parameter | None = None


@dataclass(frozen=True)
class Choice:
    """What a library would do.

    Attributes
    ----------
    name : str
        Of the implementation.
    keywords : dict
        Its parameter, optimised.
    seconds : float
        Predicted; NaN where a rule has decided.
    """

    name: str
    keywords: dict[str, int]
    seconds: float


class Library:
    """Implementations of one interface; calling it calls the one that is predicted to be the fastest.

    Parameters
    ----------
    name : str
    inputs : mapping of name to text
        What times depend on, and the ranges to calibrate over, see `smp.models.fit.inputs.Input.parse`.
    of : callable
        Takes the arguments of a call and returns the inputs' values, in order.
    setup : callable, optional
        For calibration: returns the arguments of a call with such inputs, see `Specification`; by default the inputs
        themselves.
    cleanup : callable, optional
    rule : callable, optional
        Takes the inputs' values and returns the name of an implementation: what decides without a calibration.
    points : int, optional
        Most points of the loop nest that are measured.
    loops : mapping of name to text, optional
        The loop nest of the calibration, where it does not run over the inputs but over what ``setup`` makes data
        from; ``of`` then tells the inputs.

    Attributes
    ----------
    models : dict of implementation's name to Model
        Empty until it is calibrated.

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
    ) -> None:
        self.name, self.inputs, self.of, self.loops = name, dict(inputs), of, loops
        self.setup, self.cleanup, self.points = setup, cleanup, points
        self.rule = rule or self._first
        self.ranges = parsed(inputs)
        self.implementations: dict[str, Implementation] = {}
        self.models: dict[str, Model] = {}
        self._find: Callable[..., tuple[int, int, float]] | None = None
        self._applies: dict[str, Callable[..., float]] = {}

    def __repr__(self) -> str:
        state = "calibrated" if self.models else "not calibrated"
        return f"<library {self.name}: {', '.join(self.implementations)}; {state}>"

    def add(self, *made: Implementation) -> None:
        """Add implementations; models that were there no longer count.

        Raises
        ------
        ModelError
            One of that name is there, its terms or condition do not read, or its parameter is named like an input.
        """
        names = [given.name for given in self.ranges]
        for each in made:
            if each.name in self.implementations:
                raise ModelError(f"the library {self.name} has an implementation {each.name!r} already")
            if each.parameter is not None and each.parameter.name in names:
                raise ModelError(f"the parameter {each.parameter.name!r} of {each.name} is named like an input")
            condition = self._specification(each).condition
            binding = condition is not None and condition.names <= set(names)
            text = condition.python if condition is not None and binding else "1"
            self.models, self._find = {}, None
            self._applies[each.name] = python_function("applies", names, text)
            self.implementations[each.name] = each

    def implementation(
        self, terms: Sequence[str] | Mapping[str, str], when: str = "", parameter: Parameter | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate a function that is to be an implementation of its own name; see `Implementation`."""

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(Implementation(function.__name__, function, terms, when, parameter))
            return function

        return added

    def specifications(self) -> Iterator[Specification]:
        """What is to be calibrated: one specification for each implementation, named ``library/implementation``."""
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
        """Choose by these models, of the names that `specifications` gives.

        Raises
        ------
        ModelError
            A model is missing, or is one of other inputs.
        """
        found = {}
        for specification in self.specifications():
            model = models.get(specification.name)
            names = tuple(specification.inputs)
            if model is None or model.names != names:
                raise ModelError(
                    f"there is no model of {specification.name}({', '.join(names)}): calibrate the library again"
                )
            found[specification.name.removeprefix(f"{self.name}/")] = model
        self.models, self._find = found, None

    def choose(self, *inputs: float) -> str:
        """Return the name of the implementation to call; see `best`."""
        if not self.models:
            return self.rule(*inputs)
        at = (self._find or self._compiled())(*inputs)[0]
        return self.rule(*inputs) if at < 0 else self._names[at]

    def best(self, *inputs: float) -> Choice:
        """Return what to call, with its parameter, and the predicted time.

        Parameters
        ----------
        *inputs : float
            In their order.  One below its range is taken as the lower end: models are not to be trusted towards zero.
            Nor is one that predicts a time below zero.

        Notes
        -----
        Below a microsecond an implementation; one with a parameter takes 2 log2(steps) predictions more.
        """
        if self.models:
            at, value, seconds = (self._find or self._compiled())(*inputs)
            if at >= 0:
                name = self._names[at]
                parameter = self.implementations[name].parameter
                return Choice(name, {} if parameter is None else {parameter.name: value}, seconds)
        return Choice(self.rule(*inputs), {}, math.nan)

    def predictions(self, *inputs: float) -> dict[str, Choice]:
        """Return what is predicted of each implementation, its parameter at its best; infinite where it may not."""
        raised = self.raised(*inputs)
        made = {}
        for name, model in self.models.items():
            if not self._applies[name](*inputs):
                made[name] = Choice(name, {}, math.inf)
                continue
            parameter = self.implementations[name].parameter
            own = {} if parameter is None else {parameter.name: parameter.best(model.predict, raised)}
            made[name] = Choice(name, own, model.predict(*raised, *own.values()))
        return made

    def raised(self, *inputs: float) -> list[float]:
        """Return the inputs, those below their range at its lower end: what the models are asked for."""
        return [max(given, r.low) for given, r in zip(inputs, self.ranges, strict=True)]

    def __call__(self, *arguments: Any) -> Any:
        """Call the implementation that is predicted to be the fastest."""
        chosen = self.best(*self.of(*arguments))
        return self.implementations[chosen.name].function(*arguments, **chosen.keywords)

    def _first(self, *inputs: float) -> str:
        """The rule where none is given."""
        for name, applies in self._applies.items():
            if applies(*inputs):
                return name
        told = dict(zip(self.inputs, inputs, strict=True))
        raise ModelError(f"no implementation of {self.name} applies to {told}: add one that does")

    def _compiled(self) -> Callable[..., tuple[int, int, float]]:
        """One closed function of the inputs: where among the implementations the smallest prediction above zero is.

        Conditions are asked of the inputs as they are, models of inputs within their ranges.  A model with a term that
        is not defined there, such as the logarithm of zero, predicts nothing.
        """
        names = [each.name for each in self.ranges]
        given, space = ", ".join(names), dict[str, Any](_undefined=(ArithmeticError, ValueError))
        asked, tried = list[str](), list[str]()
        for k, (name, model) in enumerate(self.models.items()):
            made, value = [f"_t = {model.body}"], "0"
            if (parameter := self.implementations[name].parameter) is not None:
                space[f"_best_{k}"], space[f"_predict_{k}"] = parameter.best, model.predict
                made.insert(0, f"{parameter.name} = _best_{k}(_predict_{k}, ({given},))")
                value = parameter.name
            made.append(f"if 0 < _t < _least: _at, _value, _least = {k}, {value}, _t")
            made = ["try:", *(f"    {line}" for line in made), "except _undefined: pass"]
            if self.implementations[name].when:
                space[f"_applies_{k}"] = self._applies[name]
                asked.append(f"_may_{k} = _applies_{k}({given})")
                made = [f"if _may_{k}:", *(f"    {line}" for line in made)]
            tried += made
        raised = [f"if {each.name} < {each.low!r}: {each.name} = {each.low!r}" for each in self.ranges]
        lines = [*asked, *raised, "_at, _value, _least = -1, 0, inf", *tried, "return _at, _value, _least"]
        self._names = list(self.models)
        self._find = compiled_function("find", names, "\n    ".join(lines), space)
        return self._find

    def to_json(self, samples: bool = False) -> dict[str, Any]:
        """Return the models as plain JSON, with or without what they were made from."""
        models = {name: model.to_json(samples) for name, model in self.models.items()}
        return {"format": FORMAT, "version": VERSION, "name": self.name, "models": models}

    def use_json(self, data: Mapping[str, Any]) -> None:
        """Choose by the models that `to_json` made this of.

        Raises
        ------
        ModelError
            It is damaged, of another library, or this one has changed since.
        """
        stated = data if isinstance(data, Mapping) else {}
        wanted = {"format": FORMAT, "version": VERSION, "name": self.name}
        if wanted != {key: stated.get(key) for key in wanted} or not isinstance(stated.get("models"), Mapping):
            raise ModelError(f"this is no calibration of the library {self.name}: calibrate it again")
        self.use({f"{self.name}/{name}": Model.from_json(model) for name, model in data["models"].items()})
