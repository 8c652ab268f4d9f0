"""Declared costs of loops: formulas in the arguments of a loop, in cycles of an emulated machine.

    @smp.local(cost="12 * len(a) + 40")                      cycles of the machine
    @smp.local(cost="(2 * load + flop) * a.size")            with the prices of the machine's operations
    @smp.local(name="stencil.sweep", terms={"point": "rows * columns"})
                                                             what the machine file's [loops."stencil.sweep"] multiplies

A formula is text or a function of the loop's arguments.  In text, an argument that is an array is used through
``len(a)``, ``a.size``, ``a.nbytes`` or ``a.shape[0]``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple, cast

from smp.errors import MachineFileError, ModelError

DECLARED = "__smp_declared__"
"""Attribute of a loop with its `Declaration`."""
KINDS = ("load", "store", "int", "mul", "div", "flop", "fdiv", "branch", "call")
"""Kinds of operations: the keys of the table ``[processor.ops]`` of a machine file."""
_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")
_TERM = re.compile(r"[a-z][a-z0-9_]{0,60}")
_FIELDS = ("size", "nbytes")
Given = str | Callable[..., float]
"""A formula as the user gives it."""


class Price(NamedTuple):
    """The declared price of a call: a constant, and a sum of factors times functions of the call's arguments."""

    constant: float
    parts: tuple[tuple[float, Callable[..., float]], ...]
    key: str
    """Text that differs if the price differs."""

    def cycles(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> float:
        """Return the cycles of a call."""
        return self.constant + sum(factor * function(*args, **options) for factor, function in self.parts)


class Formula:
    """A number that is computed from the arguments of a loop.

    Parameters
    ----------
    given : str or callable
    function : callable
        The loop's function.
    what : str
        Words for the formula in messages, such as "the cost".
    priced : bool
        Whether the text may name the prices of operations.

    Attributes
    ----------
    kinds : frozenset of str
        The operations whose prices it uses.
    """

    def __init__(self, given: Given, function: Callable[..., Any], what: str, priced: bool = False) -> None:
        what = f"{what} of the loop {function.__name__!r}"
        self._given, self._loop, self.kinds = given, function, frozenset[str]()
        self._parameters = inspect.signature(function).parameters
        if isinstance(given, str):
            self._read(given, what, priced)
        elif not callable(given):
            raise TypeError(
                f"{what} must be a formula, as text or as a function of the loop's arguments, not {given!r}"
            )

    def _read(self, text: str, what: str, priced: bool) -> None:
        from smp.models.fit.expressions import FUNCTIONS, Expression

        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError(f"{what} is {text!r}, which is no formula; write one such as '12 * len(a) + 40'") from None
        self._places: dict[str, str] = {}
        taken = _Places(frozenset(self._parameters), self._places).visit(tree)
        names = {node.id for node in ast.walk(taken) if isinstance(node, ast.Name)} - {*self._places, *FUNCTIONS}
        self.kinds = frozenset(KINDS) & names - set(self._parameters) if priced else frozenset()
        unknown = sorted(names - set(self._parameters) - self.kinds)
        if unknown:
            prices = f", and the prices of operations are {', '.join(KINDS)}" if priced else ""
            raise ValueError(
                f"{what} names {unknown[0]!r}, which is no argument of the loop; its arguments are "
                f"{', '.join(self._parameters) or 'none'}{prices}"
            )
        try:
            self._expression = Expression(ast.unparse(taken), sorted({*names, *self._places}))
        except ModelError as error:
            raise ValueError(f"{what} is no formula: {error}") from None

    def key(self, prices: Mapping[str, float]) -> str:
        """Return a text that differs if the formula, or a price that it uses, differs."""
        if isinstance(self._given, str):
            return repr((" ".join(self._given.split()), [(kind, prices[kind]) for kind in sorted(self.kinds)]))
        from .keys import key_without_numba

        return key_without_numba([self._given])

    def of_prices(self, prices: Mapping[str, float]) -> Callable[..., float]:
        """Return the formula as a function with the loop's parameters, under given prices of operations."""
        if not isinstance(self._given, str):
            return self._given
        from smp.models.fit.expressions import compiled_function

        body = re.sub(r"\b[A-Za-z_]\w*", lambda found: self._places.get(found[0], found[0]), self._expression.python)
        space = {"len": len, **{kind: prices[kind] for kind in self.kinds}}
        parameters = []
        for name, one in self._parameters.items():
            if one.kind is one.KEYWORD_ONLY and "*" not in parameters:
                parameters.append("*")
            space |= {f"_default_{name}": one.default}
            star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
            parameters.append(star + name + (f"=_default_{name}" if one.default is not one.empty else ""))
        made = compiled_function("formula", parameters, f"return {body}", space)
        made.__module__ = self._loop.__module__
        return cast("Callable[..., float]", made)


class _Places(ast.NodeTransformer):
    """Replaces ``len(a)``, ``a.size`` and ``a.shape[0]`` by names, and notes what they stand for."""

    def __init__(self, parameters: frozenset[str], places: dict[str, str]) -> None:
        self._parameters, self._places = parameters, places

    def _named(self, node: ast.expr, name: str) -> ast.expr:
        while name in self._parameters:
            name += "_"
        self._places[name] = ast.unparse(node)
        return ast.Name(name, ast.Load())

    def _is_parameter(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._parameters

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) as one]) if self._is_parameter(one):
                return self._named(node, f"len_of_{name}")
        return cast("ast.expr", self.generic_visit(node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._is_parameter(node.value) and node.attr in _FIELDS:
            return self._named(node, f"{node.attr}_of_{ast.unparse(node.value)}")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Attribute(value=of, attr="shape"), slice=ast.Constant(value=int(k))):
                if self._is_parameter(of):
                    return self._named(node, f"shape_{k}_of_{ast.unparse(of)}")
        return node


@dataclass(frozen=True)
class Declaration:
    """The declaration of a loop about its price on emulated machines.

    Attributes
    ----------
    name : str
        Name of the loop in machine files; may be empty.
    terms : mapping of str to Formula
        What machine files multiply with their coefficients.
    cost : Formula or None
        Cycles of a call, where the machine file has none.
    oblivious : bool
        The promise that the number of operations does not depend on the contents of arrays.
    given : tuple
        The declaration as the user wrote it, to make the loop again in another process.
    """

    name: str
    terms: Mapping[str, Formula]
    cost: Formula | None
    oblivious: bool
    given: tuple[Any, ...]

    def price(self, machine: str, loops: Mapping[str, Mapping[str, float]], ops: Mapping[str, float]) -> Price | None:
        """Return the declared price of the loop on a machine; None if it has to be counted.

        Parameters
        ----------
        machine : str
            Name of the machine.
        loops : mapping
            The table ``[loops]`` of the machine file.
        ops : mapping of str to float
            Prices of operations; empty if the machine file has none.

        Raises
        ------
        MachineFileError
            If the machine file has a term that the loop does not declare, or lacks prices that the cost uses.
        """
        if self.name in loops:
            return self._from_file(machine, loops[self.name])
        if self.cost is None:
            return None
        if self.cost.kinds and not ops:
            raise MachineFileError(
                f"the cost of a loop uses the price of {min(self.cost.kinds)!r}, and the machine {machine!r} has no "
                "table [processor.ops]"
            )
        return Price(0.0, ((1.0, self.cost.of_prices(ops)),), self.cost.key(ops))

    def _from_file(self, machine: str, coefficients: Mapping[str, float]) -> Price:
        parts, keys = [], [repr(sorted(coefficients.items()))]
        for term, factor in coefficients.items():
            if term == "constant":
                continue
            name = term.removeprefix("per_")
            if name not in self.terms:
                known = ", ".join(self.terms) or "none"
                raise MachineFileError(
                    f"the machine {machine!r} has {term} for the loop {self.name!r}, which does not declare the term "
                    f"{name!r}; its terms are: {known}. Declare it with the name of the loop: "
                    f"@smp.local(name={self.name!r}, terms={{{name!r}: ...}})",
                    key=f'loops."{self.name}".{term}',
                )
            parts.append((factor, self.terms[name].of_prices({})))
            keys.append(self.terms[name].key({}))
        return Price(coefficients.get("constant", 0.0), tuple(parts), repr(keys))


def declaration(
    function: Callable[..., Any],
    cost: Given | None = None,
    name: str = "",
    terms: Mapping[str, Given] | None = None,
    oblivious: bool = False,
) -> Declaration | None:
    """Return what a loop declares; None if it declares nothing.

    Raises
    ------
    TypeError, ValueError
        If a formula, the name or a term is not valid.
    """
    given = cost, name, terms, oblivious
    if given == (None, "", None, False):
        return None
    if not isinstance(name, str) or (name and not _NAME.fullmatch(name)):
        raise ValueError(
            f"the name of the loop {function.__name__!r} is {name!r}; write words with points between them, such as "
            "'stencil.sweep'"
        )
    if terms and not name:
        raise ValueError(
            f"the loop {function.__name__!r} has terms but no name; machine files find a loop by its name: "
            "@smp.local(name='...', terms=...)"
        )
    for term in terms or ():
        if not isinstance(term, str) or not _TERM.fullmatch(term) or term == "constant":
            raise ValueError(
                f"the loop {function.__name__!r} has the term {term!r}; a term is a word in small letters, such as "
                "'point', and machine files have 'per_point' for it"
            )
    if not isinstance(oblivious, bool):
        raise TypeError(f"oblivious must be True or False, not {oblivious!r}")
    formulas = {term: Formula(one, function, f"the term {term!r}") for term, one in (terms or {}).items()}
    whole = None if cost is None else Formula(cost, function, "the cost", priced=True)
    return Declaration(name, formulas, whole, oblivious, given)


def declared(loop: Any) -> Declaration | None:
    """Return what a loop declares; None for a loop that declares nothing, and for anything else."""
    return vars(loop).get(DECLARED) if isinstance(loop, FunctionType) else None
