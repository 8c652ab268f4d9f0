"""The counts of operations on whole arrays: those of the loop over the elements that an operation stands for.

a.sum()             for each element: a load, an addition, one step of the loop
a[2:9] = b          for each element: a load, a store, one step
c = a + 2 * b       for each element: two loads, a product, a sum, a store, one step; a call for the memory
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import ir

from . import elements
from .operations import NOTHING, STEP, Count, total
from .scalars import is_number, is_whole, operation, types, words

VIEW: Count = {"int": 2}
"""A part of an array, which is not copied: its address and its length."""
_NEW: Count = {"call": 1}  # memory for an array


class Work(NamedTuple):
    """The count of a statement.

    Attributes
    ----------
    fixed : Count
        The part that is the same each time.
    each : Count
        The part for each element.
    number : callable or None
        Function that returns the number of elements, a function of `elements`.
    given : tuple of Var
        Its arguments.
    """

    fixed: Count = NOTHING
    each: Count = NOTHING
    number: Callable[..., int] | None = None
    given: tuple[Any, ...] = ()


def read(kind: Any) -> Count:
    """Return the count of loading an element of an array; nothing for a number, or for a record, which is not moved."""
    if not isinstance(kind, types.Array) or isinstance(kind.dtype, types.Record):
        return NOTHING
    return {"load": words(kind.dtype)}


def written(kind: Any) -> Count:
    """Return the count of storing an element of an array."""
    return {"store": words(kind.dtype)}


def element(kind: Any) -> Any:
    """Return the type of an array's elements; the type itself for a number."""
    return kind.dtype if isinstance(kind, types.Array) else kind


def elementwise(function: Any, operands: tuple[Any, ...], result: Any, of: Any, new: bool) -> Work | None:
    """Return the count of an operation element by element, or None if it is not known.

    Parameters
    ----------
    function : callable
    operands : tuple of Type
    result : Type
        Type of the array that receives the result.
    of : Var
        The array itself.
    new : bool
        True if the operation makes the array.
    """
    one = operation(function, tuple(map(element, operands)))
    if one is None:
        return None
    each = total(*map(read, operands), one, written(result), STEP)
    return Work(_NEW if new else NOTHING, each, elements.of_array, (of,))


def expression(tree: Any, typemap: dict[str, Any], target: Any) -> Work | None:
    """Return the count of an expression of arrays that is computed in one loop; None if a part is not known."""
    operations: list[Count | None] = []
    arrays: dict[str, Any] = {}

    def kind_of(node: Any) -> Any:
        if isinstance(node, ir.Var):
            if isinstance(typemap[node.name], types.Array):
                arrays[node.name] = typemap[node.name]
            return element(typemap[node.name])
        if isinstance(node, ir.Const):
            return types.float64 if isinstance(node.value, float) else types.intp
        function, operands = node
        kinds = tuple(map(kind_of, operands))
        count = operation(function, kinds)
        operations.append(count)
        whole = all(map(is_whole, kinds)) and not (count and ("flop" in count or "fdiv" in count))
        return types.intp if whole else next((k for k in kinds if isinstance(k, types.Complex)), types.float64)

    kind_of(tree)
    known = [one for one in operations if one is not None]
    if len(known) < len(operations):
        return None
    each = total(*map(read, arrays.values()), *known, written(typemap[target.name]), STEP)
    return Work(_NEW, each, elements.of_array, (target,))


def part(kind: Any, index: Any, array: Any, place: Any, target: Any) -> Work | None:
    """Return the count of reading ``array[place]``; None if it is not known."""
    if isinstance(kind, types.Record):
        return Work({"load": 1})
    if not isinstance(kind, types.Array):
        return None
    result_is_array = any(isinstance(one, types.Array | types.SliceType | types.EllipsisType) for one in _parts(index))
    if not result_is_array and len(_parts(index)) == kind.ndim:
        return Work(read(kind))
    chosen = [one for one in _parts(index) if isinstance(one, types.Array)]
    if not chosen:
        return Work(VIEW)
    if any(one.dtype == types.boolean for one in chosen):
        return None
    each = total({"load": 1 + words(kind.dtype)}, written(kind), STEP)
    return Work(_NEW, each, elements.of_array, (target,))


def assigned(kind: Any, index: Any, value: Any, array: Any, place: Any) -> Work | None:
    """Return the count of ``array[place] = value``; None if it is not known."""
    if not isinstance(kind, types.Array):
        return None
    parts = _parts(index)
    if not any(isinstance(one, types.Array | types.SliceType | types.EllipsisType) for one in parts):
        if len(parts) == kind.ndim:
            return Work({"store": words(kind.dtype)})
    elif any(isinstance(one, types.Array) for one in parts):
        chosen = next(one for one in parts if isinstance(one, types.Array))
        if len(parts) > 1 or chosen.dtype == types.boolean:
            return None
        each = total({"load": 1}, read(value), written(kind), STEP)
        return Work(NOTHING, each, elements.of_array, (place,))
    if not is_number(value) and not isinstance(value, types.Array):
        return None
    return Work(VIEW, total(read(value), written(kind), STEP), elements.of_part, (array, place))


def _parts(index: Any) -> tuple[Any, ...]:
    return tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)


def call(name: str, given: tuple[Any, ...], kinds: tuple[Any, ...], target: Any, result: Any) -> Work | None:
    """Return the count of a function of NumPy, or of a method of an array; None if it is not known.

    Parameters
    ----------
    name : str
        Name of the function or the method.
    given : tuple of Var
        Its arguments; those of a method begin with the array.
    kinds : tuple of Type
        Types of the arguments.
    target : Var
        Receives the result.
    result : Type
        Type of the result.
    """
    if name in _FREE:
        return Work()
    if name in _VIEWS:
        return Work(VIEW)
    if name in _MADE:
        filled = total(written(result), STEP) if _MADE[name] else NOTHING
        return Work(_NEW, filled, elements.of_array, (target,)) if filled else Work(_NEW)
    if not kinds or not isinstance(kinds[0], types.Array):
        return None
    array, of = kinds[0], (given[0],)
    one = element(array)
    if name in _FOLDED:
        function = _FOLDED[name]
        count = operation(function, (one, one)) if function is not None else {"branch": 1}
        last = {"fdiv": 1} if name == "mean" else NOTHING
        return None if count is None else Work(last, total(read(array), count, STEP), elements.of_array, of)
    if name in _COPIED and isinstance(result, types.Array):
        return Work(_NEW, total(read(array), written(result), STEP), elements.of_array, of)
    if name in _RUNNING and isinstance(result, types.Array):
        count = operation(_RUNNING[name], (one, one))
        return (
            None
            if count is None
            else Work(_NEW, total(read(array), count, written(result), STEP), elements.of_array, of)
        )
    if name == "fill":
        return Work(NOTHING, total(written(array), STEP), elements.of_array, of)
    if name == "searchsorted":
        return _searched(given, kinds)
    return _product(given, kinds) if name == "dot" else None


def _searched(given: tuple[Any, ...], kinds: tuple[Any, ...]) -> Work:
    compared = operation(operator.lt, (element(kinds[0]), element(kinds[1]))) or NOTHING
    halving = total(read(kinds[0]), compared, {"int": 3, "branch": 2})  # a middle, a comparison, an end that moves
    if isinstance(kinds[1], types.Array):
        each = total(halving, {})
        return Work(_NEW, each, elements.of_all_halvings, (given[0], given[1]))
    return Work(NOTHING, halving, elements.of_halvings, (given[0],))


def _product(given: tuple[Any, ...], kinds: tuple[Any, ...]) -> Work | None:
    if len(kinds) != 2 or not all(isinstance(kind, types.Array) for kind in kinds):
        return None
    a, b = kinds
    one = element(a)
    sums, products = operation(operator.add, (one, one)), operation(operator.mul, (one, one))
    if sums is None or products is None:
        return None
    each = total(read(a), read(b), sums, products, STEP)
    if b.ndim == 1:
        return Work(NOTHING if a.ndim == 1 else _NEW, each, elements.of_array, (given[0],))
    if a.ndim == 1:
        return Work(_NEW, each, elements.of_array, (given[1],))
    return Work(_NEW, each, elements.of_product, given)


_FREE = {"len", "dtype", "type", "itemsize", "item"}
_VIEWS = {"view", "reshape", "ravel", "transpose"}
_MADE = {"empty": False, "empty_like": False, "zeros": True, "zeros_like": True, "ones": True, "ones_like": True}
_MADE |= {"full": True, "full_like": True, "arange": True}
_FOLDED: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "mean": np.add, "min": min, "max": max, "amin": min}
_FOLDED |= {"amax": max, "argmin": min, "argmax": max, "any": None, "all": None, "count_nonzero": np.add}
_COPIED = {"copy", "astype", "ascontiguousarray", "asfortranarray", "flatten"}
_RUNNING: dict[str, Any] = {"cumsum": np.add, "cumprod": np.multiply}
