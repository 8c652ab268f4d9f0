"""The counts of operations on single numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types as _types

from .operations import ELEMENTARY, NOTHING, Count, times, total

types: Any = _types  # its stubs lack many names
_WORD = 8  # bytes that a load moves

_SUMS = {operator.add, operator.iadd, operator.sub, operator.isub, np.add, np.subtract}
_PRODUCTS = {operator.mul, operator.imul, np.multiply}
_QUOTIENTS = {operator.truediv, operator.itruediv, np.divide}
_REMAINDERS = {
    *(operator.floordiv, operator.ifloordiv, operator.mod, operator.imod),
    *(np.floor_divide, np.remainder, np.fmod, math.fmod, divmod),
}
_BITS = {
    *(operator.and_, operator.iand, operator.or_, operator.ior, operator.xor, operator.ixor),
    *(operator.lshift, operator.ilshift, operator.rshift, operator.irshift, operator.invert),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
}
_COMPARISONS = {
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(math.isnan, np.isnan, math.isinf, np.isinf, math.isfinite, np.isfinite),
}
_SIGNS = {operator.neg, np.negative, abs, operator.abs, math.fabs, np.abs, np.fabs, math.copysign, np.copysign, np.sign}
_EXTREMES = {min, max, np.minimum, np.maximum, np.fmin, np.fmax}
_ROUNDED = {math.floor, math.ceil, math.trunc, round, np.floor, np.ceil, np.trunc, np.rint}
_POWERS = {operator.pow, operator.ipow, pow, math.pow, np.power}
_ROOTS = {math.sqrt, np.sqrt}
_NAMES = ("sin cos tan sinh cosh tanh exp expm1 log log10 log1p log2 hypot", "asin acos atan atan2 asinh acosh atanh")
_ELEMENTARY = {
    *(getattr(module, name) for module in (math, np) for name in _NAMES[0].split()),
    *(getattr(math, name) for name in _NAMES[1].split()),
    *(getattr(np, name.replace("a", "arc", 1)) for name in _NAMES[1].split()),
    *(math.erf, math.erfc, math.gamma, math.lgamma, np.exp2, np.cbrt),
}
_FREE = {operator.not_, operator.pos, np.positive, operator.is_, operator.is_not, operator.truth}


def words(kind: Any) -> int:
    """Return the number of words that hold a value: one for each 8 bytes or fewer."""
    if isinstance(kind, types.Record):
        return -(-int(kind.size) // _WORD)
    return 2 if kind == types.complex128 else 1


def is_whole(kind: Any) -> bool:
    """Return True for the type of a whole number, or of a truth value."""
    return isinstance(kind, types.Integer | types.Boolean | types.NPDatetime | types.NPTimedelta | types.EnumMember)


def is_number(kind: Any) -> bool:
    """Return True for the type of a single number."""
    return is_whole(kind) or isinstance(kind, types.Float | types.Complex)


def is_comparison(function: Any) -> bool:
    """Return True for a function that compares two numbers, or returns one of them."""
    return _hashable(function) and (function in _COMPARISONS or function in _EXTREMES)


def converted(given: Any, taken: Any) -> Count:
    """Return the count of a conversion between two types of numbers."""
    if isinstance(given, types.Literal):  # done when the program is compiled
        return NOTHING
    pair = given, taken
    if not all(map(is_number, pair)) or all(map(is_whole, pair)) or given == taken:
        return NOTHING
    return {"flop": 1}


def operation(function: Callable[..., Any], kinds: tuple[Any, ...], constants: tuple[Any, ...] = ()) -> Count | None:
    """Return the count of an operation on numbers, without conversions; None if it is not known.

    Parameters
    ----------
    function : callable
        A function of the modules `operator` and `math`, a function of Python, or a universal function of NumPy.
    kinds : tuple of Type
        Numba's types of its arguments, as the operation takes them.
    constants : tuple
        Value of each argument that is a constant, else None.
    """
    if not all(map(is_number, kinds)) or not _hashable(function):
        return None
    return (
        _on_complex(function)
        if any(isinstance(one, types.Complex) for one in kinds)
        else _on_real(function, kinds, constants)
    )


def _hashable(function: Any) -> bool:
    return callable(function) and getattr(type(function), "__hash__", None) is not None


def _on_real(function: Any, kinds: tuple[Any, ...], constants: tuple[Any, ...]) -> Count | None:
    whole = all(map(is_whole, kinds))
    add: Count = {"int" if whole else "flop": 1}
    second = constants[1] if len(constants) == 2 else None
    if function in _FREE or (whole and constants and None not in constants):  # known when the program is compiled
        return NOTHING
    if function in _SUMS or function in _COMPARISONS or function in _SIGNS:
        return add
    if function in _BITS or function is bool:
        return add if kinds[0] != types.boolean or function is not bool else NOTHING
    if function in _PRODUCTS:
        if not whole:
            return {"flop": 1}
        return {"int": 1} if any(_is_power_of_two(one) for one in constants) else {"mul": 1}
    if function in _QUOTIENTS:
        return total({"fdiv": 1}, times({"flop": 1}, sum(map(is_whole, kinds))))
    if function in _REMAINDERS:
        pair = 2 if function is divmod else 1
        if not whole:
            return {"fdiv": 1, "flop": 3}
        return {"int": pair} if _is_power_of_two(second) else {"div": 1}
    if function in _EXTREMES:
        return times(total(add, {"branch": 1}), len(kinds) - 1)
    if function in _ROUNDED:
        return NOTHING if whole else {"flop": 1}
    if function in _ROOTS:
        return {"fdiv": 1}
    if function in _POWERS:
        return _power(second, "mul" if whole else "flop") or ELEMENTARY
    return ELEMENTARY if function in _ELEMENTARY else None


def _on_complex(function: Any) -> Count | None:
    if function in _SUMS or function in _COMPARISONS or function is operator.neg:
        return {"flop": 2}
    if function in _PRODUCTS:
        return {"flop": 6}
    if function in _QUOTIENTS:
        return {"flop": 9, "fdiv": 2}
    if function in (abs, np.abs):
        return {"flop": 3, "fdiv": 1}
    return NOTHING if function in _FREE else None


def _power(exponent: Any, product: str) -> Count | None:
    """Return the products of a power with a small constant exponent; None for any other."""
    if isinstance(exponent, bool) or not isinstance(exponent, int) or not 0 <= exponent <= 64:
        return None
    return {product: max(0, exponent.bit_length() - 1 + exponent.bit_count() - 1)}


def _is_power_of_two(value: Any) -> bool:
    return isinstance(value, int | np.integer) and int(value) > 0 and int(value).bit_count() == 1
