"""Vectors of keys in the making of a function: the types, constants and places that its instructions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np import arrayobj

from . import vectors

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_TYPES = (types.int32, types.int64, types.uint32, types.uint64, types.float32, types.float64)


class Lanes(NamedTuple):
    """Vectors of the keys of one array: their types, and what their lanes mean."""

    builder: Any
    bits: int
    number: int
    floats: bool
    signed: bool
    word: Any
    words: Any
    keys: Any
    chosen: Any
    at: Callable[[Any], Any]
    """Returns a pointer to the vector that begins at a place."""


def lanes_in(context: Any, builder: Any, array: Any, value: Any, most: int = 64) -> Lanes:
    """Return the vectors of an array, given its type and its value, with some number of lanes at most."""
    dtype = array.dtype
    bits, floats = dtype.bitwidth, isinstance(dtype, types.Float)
    count, word = min(8 * vectors.width() // bits, most), ir.IntType(bits)
    words, keys = ir.VectorType(word, count), ir.VectorType(context.get_data_type(dtype), count)
    helper: Any = arrayobj.make_array
    made = helper(array)(context, builder, value)

    def at(place: Any) -> Any:
        item: Any = cgutils.get_item_pointer(context, builder, array, made, [place])
        return builder.bitcast(item, words.as_pointer())

    signed = floats or dtype.signed
    return Lanes(builder, bits, count, floats, signed, word, words, keys, ir.VectorType(I1, count), at)


def everywhere(lanes: Lanes, number: int) -> Any:
    """Return a vector with a number in all lanes."""
    return ir.Constant(lanes.words, [number % (1 << lanes.bits)] * lanes.number)


def call(builder: Any, name: str, result: Any, *args: Any) -> Any:
    """Call an instruction by its name in LLVM."""
    function = ir.FunctionType(result, [arg.type for arg in args])
    declared: Any = cgutils.get_or_insert_function(builder.module, function, name)
    return builder.call(declared, args)


def spread(builder: Any, one: Any, count: int) -> Any:
    """Return a vector of ``count`` lanes with a value in all of them."""
    nothing = ir.Constant(ir.VectorType(one.type, count), ir.Undefined)
    first = ir.Constant(ir.VectorType(I32, count), [0] * count)
    return builder.shuffle_vector(builder.insert_element(nothing, one, I32(0)), nothing, first)


def check_keys(keys: Any) -> None:
    """Raise an error for arguments that are no keys."""
    if not isinstance(keys, types.Array) or keys.ndim != 1 or keys.layout != "C":
        raise TypingError(f"keys must be a C-contiguous array of one dimension, not {keys}")
    if keys.dtype not in _TYPES:
        raise TypingError(f"keys must be integers or floats of 32 or 64 bits, not {keys.dtype}")
