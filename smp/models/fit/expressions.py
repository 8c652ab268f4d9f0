"""Expressions of a model's inputs as text, checked once and turned into Python, NumPy and C.

    "n * log2(n)"    ->  n * log2(n)       for numbers, in Python
                         n * np.log2(n)    for arrays
                         n * log2(n)       for doubles, in C

Text can be stored, printed and compared. An expression may hold only numbers, the inputs, ``+ - * / **``, comparisons,
``and or not`` between them, ``a if c else b`` and the functions of `FUNCTIONS`. A comparison counts as 1 if it holds,
and as 0 otherwise. Powers are always computed with floats: powers of Python's integers have no bound, and ``9**9**9``
would not end.
"""

from __future__ import annotations

import ast
import functools
import keyword
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp.errors import ModelError

FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
}
"""Functions that an expression may call; ``min`` and ``max`` take two or more arguments, the others one."""
_ARRAY_FUNCTIONS = {name: getattr(np, name) for name in FUNCTIONS if name not in ("min", "max")} | {
    "min": lambda *given: functools.reduce(np.minimum, given),
    "max": lambda *given: functools.reduce(np.maximum, given),
    "_float": np.float64,  # with Python's own floats 1 / 0 would raise
    "_where": np.where,
    "_both": np.logical_and,
    "_either": np.logical_or,
    "_opposite": np.logical_not,
}
_C_NAMES = {"abs": "fabs", "min": "fmin", "max": "fmax"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_ALLOWED = (
    "numbers, the inputs, + - * / **, comparisons, and, or, not between them, 'a if c else b' and the functions "
    + ", ".join(FUNCTIONS)
)
_C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
)
LONGEST = 1_000
"""The most characters that an expression may have."""
RESERVED = frozenset([*FUNCTIONS, *_C_NAMES.values(), "pow", "inf", *keyword.kwlist, *_C_WORDS.split()])
"""Words that cannot name an input or a function, in Python or in C."""


class Expression:
    """A checked expression.

    Parameters
    ----------
    text : str
        Text such as ``"n * log2(n)"`` or ``"ceil(bits / digit)"``.
    inputs : sequence of str
        Names of the inputs that it may use.

    Attributes
    ----------
    python, c : str
        The expression as Python text for numbers, and as C text for doubles.
    shown : str
        The expression for readers, with ``**``.
    names, calls : frozenset of str
        The inputs that it uses, and the functions that its Python text calls.

    Raises
    ------
    ModelError
        The text is not a str, does not parse, is too long or nested too deeply, uses a name that is not an input, holds
        syntax that no expression may hold, or holds a number or a power of numbers that is larger than a float can be.

    Examples
    --------
    >>> passes = Expression("ceil(bits / digit)", ["bits", "digit"])
    >>> passes.of({"bits": [8, 16, 32], "digit": 6}).tolist()
    [2.0, 3.0, 6.0]
    >>> passes.c
    'ceil((bits / digit))'
    """

    def __init__(self, text: str, inputs: Sequence[str]) -> None:
        if not isinstance(text, str):
            raise ModelError(f"{text!r} is not an expression: write it as text, such as 'n * log2(n)'")
        self.text = " ".join(text.split())
        if len(self.text) > LONGEST:
            raise ModelError(
                f"{text[:40]!r}... has {len(self.text):,} characters: an expression has at most {LONGEST:,}"
            )
        try:
            self._read(text, inputs)
        except (SyntaxError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"{text!r} is not an expression: {error.args[0]}") from None
        except (RecursionError, MemoryError):
            raise ModelError(f"{text[:40]!r}... is nested too deeply for an expression") from None

    def _read(self, text: str, inputs: Sequence[str]) -> None:
        tree = ast.parse(self.text, mode="eval").body
        _check(tree, text, inputs)
        self.c = _emit(tree, in_c=True)
        self._arrays = _compiled(tree)
        self.shown = _grouped(tree)
        plain = _Powers().visit(tree)
        self.python = _grouped(plain)
        used = frozenset(_named(plain))
        self.names, self.calls = used & set(inputs), used & {*FUNCTIONS, "pow"}

    def __repr__(self) -> str:
        return f"<expression {self.text}>"

    def of(self, inputs: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Evaluate the expression over arrays.

        Parameters
        ----------
        inputs : mapping of name to array_like
            Arrays of shapes that broadcast with each other.

        Returns
        -------
        ndarray of float64
            An array of the inputs' common shape. A condition is 0 or 1. A value that is not defined (log of 0) is NaN
            or infinite.
        """
        values = {name: np.asarray(given, np.float64) for name, given in inputs.items()}
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
        return np.broadcast_to(np.asarray(_value(self._arrays, values), np.float64), shape)


def python_function(name: str, parameters: Sequence[str], body: str) -> Callable[..., float]:
    """Compile a function of numbers that returns ``body``: an expression's `python` text, or a sum of such texts."""
    made: Callable[..., float] = compiled_function(name, parameters, f"return {body}", {})
    return made


def compiled_function(name: str, parameters: Sequence[str], body: str, space: Mapping[str, Any]) -> Callable[..., Any]:
    """Compile a Python function from its body, made of checked expressions; ``space`` holds further names to call."""
    known: dict[str, Any] = {"__builtins__": {}, "inf": math.inf, "pow": math.pow, **FUNCTIONS, **space}
    exec(f"def {name}({', '.join(parameters)}):\n    {body}", known)
    made: Callable[..., Any] = known[name]
    return made


def _check(node: ast.AST, text: str, inputs: Sequence[str]) -> None:
    """Raise `ModelError` if a tree holds a node that an expression may not hold."""
    if isinstance(node, ast.Constant):
        value: Any = node.value
        fine = type(value) in (int, float) and abs(value) <= sys.float_info.max
    elif isinstance(node, ast.Name):
        if node.id not in inputs:
            known = ", ".join(inputs) or "none"
            raise ModelError(f"{text!r} names {node.id!r}, which is not an input; the inputs are: {known}")
        fine = True
    elif isinstance(node, ast.BinOp):
        fine = type(node.op) in _OPERATORS
    elif isinstance(node, ast.UnaryOp):
        fine = isinstance(node.op, ast.USub | ast.UAdd) or _is_condition(node.operand)
    elif isinstance(node, ast.BoolOp):
        fine = all(map(_is_condition, node.values))
    elif isinstance(node, ast.Compare):
        fine = all(type(op) in _COMPARISONS for op in node.ops)
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        least, most = (2, math.inf) if name in ("min", "max") else (1, 1)
        fine = name in FUNCTIONS and not node.keywords and least <= len(node.args) <= most
    else:
        fine = isinstance(node, ast.IfExp)
    if not fine:
        raise ModelError(f"{text!r} contains {ast.unparse(node)!r}, but an expression may contain only {_ALLOWED}")
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not (isinstance(node, ast.Call) and child is node.func):
            _check(child, text, inputs)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _named(node) & set(inputs):
        base, exponent, value = (float(_value(_compiled(part), {})) for part in (node.left, node.right, node))
        if math.isfinite(base) and math.isfinite(exponent) and math.isinf(value):
            raise ModelError(f"{text!r} contains {ast.unparse(node)!r}, which is larger than a float can be")


def _named(node: ast.AST) -> set[str]:
    """Return the names in a tree."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _compiled(tree: ast.expr) -> CodeType:
    """Return a checked tree as code for arrays."""
    return compile(_emit(tree, in_c=False), "<expression>", "eval")


def _value(code: CodeType, values: Mapping[str, NDArray[np.float64]]) -> Any:
    with np.errstate(all="ignore"):
        return eval(code, {"__builtins__": {}, **_ARRAY_FUNCTIONS}, dict(values))  # checked text only


class _Powers(ast.NodeTransformer):
    """Writes powers as calls of ``pow``, which in `math` and in C takes floats."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("pow"), [node.left, node.right], [])
        return node


def _is_condition(node: ast.expr) -> bool:
    """Return True if a node is a condition, whose value is a truth value and not a number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return True
    return isinstance(node, ast.Compare | ast.BoolOp)


def _emit(node: ast.expr, in_c: bool) -> str:
    """Write a checked tree for arrays in Python, or for doubles in C."""
    emit = functools.partial(_emit, in_c=in_c)

    def number(part: ast.expr) -> str:
        """Return a part as a number: in NumPy, True + True is True, and C would divide conditions as integers."""
        return f"(1.0 * {emit(part)})" if _is_condition(part) else emit(part)

    match node:
        case ast.Constant(value=value):
            plain = repr(float(value))  # type: ignore[arg-type]  # checked
            return plain if in_c else f"_float({plain})"
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"(!{emit(operand)})" if in_c else f"_opposite({emit(operand)})"
        case ast.UnaryOp(op=op, operand=operand):
            return f"({'-' if isinstance(op, ast.USub) else '+'}{number(operand)})"
        case ast.BinOp(left=left, op=ast.Pow(), right=right) if in_c:
            return f"pow({number(left)}, {number(right)})"
        case ast.BinOp(left=left, op=op, right=right):
            return f"({number(left)} {_OPERATORS[type(op)]} {number(right)})"
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [number(side) for side in (left, *comparators)]
            pairs = [f"({a} {_COMPARISONS[type(op)]} {b})" for a, op, b in zip(sides, ops, sides[1:], strict=False)]
            return _joined(pairs, "&&" if in_c else "_both", in_c)
        case ast.BoolOp(op=op, values=values):
            word = {(True, True): "&&", (True, False): "||", (False, True): "_both", (False, False): "_either"}
            return _joined([emit(value) for value in values], word[in_c, isinstance(op, ast.And)], in_c)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            first, then, other = emit(test), number(body), number(orelse)
            return f"({first} ? {then} : {other})" if in_c else f"_where({first}, {then}, {other})"
        case ast.Call(func=ast.Name(id=name), args=args):
            called, given = _C_NAMES.get(name, name) if in_c else name, map(number, args)
            if in_c and name in ("min", "max"):
                return functools.reduce(lambda a, b: f"{called}({a}, {b})", given)
            return f"{called}({', '.join(given)})"
    raise AssertionError(ast.dump(node))


def _grouped(tree: ast.expr) -> str:
    """Return the expression in Python, in brackets if a factor before it would bind to its first part only."""
    text = ast.unparse(tree)
    return text if isinstance(tree, ast.Constant | ast.Name | ast.Call) else f"({text})"


def _joined(parts: Sequence[str], word: str, in_c: bool) -> str:
    if in_c:
        return f"({f' {word} '.join(parts)})" if len(parts) > 1 else parts[0]
    return functools.reduce(lambda a, b: f"{word}({a}, {b})", parts)
