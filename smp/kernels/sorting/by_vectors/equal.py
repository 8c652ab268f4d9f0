"""Vector code of ``count_equal`` and ``store_equal``: a vector of keys is compared with one value.

    keys      5 9 5 7 1 5 6 3       the value 5, and the index 40 of the first key
    equal     1 0 1 0 0 1 0 0       number of the entry in a table
    entry     0 2 5 . . . . .       four bits for each lane that is equal, taken apart by one shift
    stored    40 42 45 . . . . .    the places that follow are written over by the next vector

A vector of indices has eight lanes with AVX-512 and four with AVX2, and so has that of the keys.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from . import vectors
from .lanes import I64, call, check_keys, lanes_in, spread

_BITS = 4
"""Bits of a lane in an entry of the table."""


def _typed_count(typing: Any, bits: Any, at: Any, value: Any) -> Any:
    check_keys(bits)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits_, at, value = args
        lanes, count = lanes_in(context, builder, bits, bits_), I64(0)
        for place in range(0, 8 * vectors.GROUP_BYTES // lanes.bits, lanes.number):
            count = builder.add(count, _number_of(builder, _equal(lanes, builder.add(at, I64(place)), value)))
        return count

    return types.intp(bits, types.intp, bits.dtype), code


def _typed_store(typing: Any, bits: Any, at: Any, value: Any, order: Any, place: Any, index: Any) -> Any:
    check_keys(bits)
    check_keys(order)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits_, at, value, order_, place, index = args
        indices = lanes_in(context, builder, order, order_)
        n = indices.number
        chosen = _equal(lanes_in(context, builder, bits, bits_, n), at, value)
        table = ir.Constant(ir.ArrayType(I64, 1 << n), [_entry(k) for k in range(1 << n)])
        made: Any = cgutils.global_constant(builder.module, f"smp.chosen.{n}", table)
        entry = builder.load(builder.gep(made, [I64(0), chosen], inbounds=True))
        shifts = ir.Constant(indices.words, [_BITS * k for k in range(n)])
        parts = builder.and_(builder.lshr(spread(builder, entry, n), shifts), ir.Constant(indices.words, [n - 1] * n))
        builder.store(builder.add(parts, spread(builder, index, n)), indices.at(place), align=8)
        return _number_of(builder, chosen)

    return types.intp(bits, types.intp, bits.dtype, order, types.intp, types.intp), code


count_equal, store_equal = intrinsic(_typed_count), intrinsic(_typed_store)


def _equal(lanes: Any, at: Any, value: Any) -> Any:
    """Return a number with one bit for each lane, which is set if the key equals a value."""
    builder, n = lanes.builder, lanes.number
    words = builder.load(lanes.at(at), align=lanes.bits // 8)
    equal = builder.icmp_unsigned("==", words, spread(builder, value, n))
    return builder.zext(builder.bitcast(equal, ir.IntType(n)), I64)


def _number_of(builder: Any, chosen: Any) -> Any:
    return call(builder, "llvm.ctpop.i64", I64, chosen)


def _entry(chosen: int) -> int:
    """Return the entry of the table for a set of lanes: the lanes that are in it, in order."""
    lanes = [lane for lane in range(8) if chosen >> lane & 1]
    return sum(lane << _BITS * k for k, lane in enumerate(lanes))
