"""A function that finds the implementation with the smallest prediction, compiled from the formulas of the models.

    inputs --conditions--> which apply      inputs held to the ranges --models--> seconds x factors --> the least

Conditions are evaluated on the inputs as they are.  Sizes above their ranges are left to a function of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..models.fit.expressions import compiled_function
from ..models.fit.inputs import Input
from ..models.fit.model import Model
from .edges import grows
from .implementation import Implementation

UNDEFINED = (ArithmeticError, ValueError)
"""Errors of a model whose terms are not defined for some inputs, such as the logarithm of zero."""
Find = Callable[..., tuple[int, int, float, bool]]
"""Takes the inputs and the factors; returns the implementation's index, or -1 if there is none, its parameter's value,
its predicted time, and whether an input lies outside its range."""


def compiled_choice(
    ranges: Sequence[Input],
    models: Mapping[str, Model],
    implementations: Mapping[str, Implementation],
    applies: Mapping[str, Callable[..., float]],
    beyond: Callable[..., tuple[int, int, float, bool]],
) -> Find:
    """Compile the choice among implementations; a model with a term that is undefined somewhere predicts nothing there.

    Parameters
    ----------
    ranges : sequence of Input
        Inputs of the library.
    models, implementations, applies : mapping
        Model, implementation and condition by the implementation's name.
    beyond : callable
        Takes the inputs, of which a size lies above its range, and the factors, and returns the result.
    """
    names = [each.name for each in ranges]
    given, space = ", ".join(names), dict[str, Any](_undefined=UNDEFINED, _beyond=beyond)
    asked, tried = list[str](), list[str]()
    for k, (name, model) in enumerate(models.items()):
        made, value = [f"_t = {model.body}"], "0"
        if (parameter := implementations[name].parameter) is not None:
            space[f"_best_{k}"], space[f"_predict_{k}"] = parameter.best, model.predict
            made.insert(0, f"{parameter.name} = _best_{k}(_predict_{k}, ({given},))")
            value = parameter.name
        made.append(f"_c = _t * _factors.get({name!r}, 1.0) if _factors else _t")
        made.append(f"if {model.least!r} < _t and _c < _least: _at, _value, _least = {k}, {value}, _c")
        made = ["try:", *(f"    {line}" for line in made), "except _undefined: pass"]
        if implementations[name].when:
            space[f"_applies_{k}"] = applies[name]
            asked.append(f"_may_{k} = _applies_{k}({given})")
            made = [f"if _may_{k}:", *(f"    {line}" for line in made)]
        tried += made
    sizes = [f"{each.name} > {each.high!r}" for each in ranges if grows(each)]
    larger = [f"if {' or '.join(sizes)}: return _beyond(({given},), _factors)"] if sizes else []
    held = [f"if {each.name} < {each.low!r}: {each.name}, _outside = {each.low!r}, True" for each in ranges]
    held += [
        f"if {each.name} > {each.high!r}: {each.name}, _outside = {each.high!r}, True"
        for each in ranges
        if not grows(each)
    ]
    start = "_at, _value, _least = -1, 0, inf"
    lines = [*larger, *asked, "_outside = False", *held, start, *tried, "return _at, _value, _least, _outside"]
    found: Find = compiled_function("find", [*names, "_factors"], "\n    ".join(lines), space)
    return found
