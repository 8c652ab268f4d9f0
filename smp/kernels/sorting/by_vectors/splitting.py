"""Vector code of ``split_vector`` and ``split_group``: a vector is packed in a register, and stored twice.

With AVX-512, two instructions pack it: one moves the keys up to the pivot together, and one moves the others behind
them.  With AVX2, the lanes change places by a table, which has an order of lanes for each set of keys above the pivot:

    keys       5 9 2 7 1 8 6 3       pivot 5
    above      0 1 0 1 0 1 1 0       number of the entry
    entry      0 2 4 7 1 3 5 6       four bits for each lane, taken apart by one shift
    packed     5 2 1 3 9 7 8 6

An instruction moves words of 32 bits, so a key of 64 bits has two places in an entry.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from . import vectors
from .lanes import I32, I64, Lanes, call, check_keys, lanes_in, spread

_BITS = 4
"""Bits of a place in an entry of the table."""


def _typed_vector(typing: Any, source: Any, at: Any, keys: Any, left: Any, right: Any, pivot: Any) -> Any:
    check_keys(source)
    check_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source_, at, keys_, left, right, pivot = args
        given, lanes = lanes_in(context, builder, source, source_), lanes_in(context, builder, keys, keys_)
        words = builder.load(given.at(at), align=lanes.bits // 8)
        return _split(lanes, words, left, right, spread(builder, pivot, lanes.number))

    return types.intp(source, types.intp, keys, types.intp, types.intp, keys.dtype), code


def _typed_group(typing: Any, keys: Any, at: Any, left: Any, right: Any, pivot: Any) -> Any:
    check_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = lanes_in(context, builder, keys, args[0])
        at, left, right, pivot = args[1:]
        n, size = lanes.number, lanes.bits // 8
        pivots = spread(builder, pivot, n)
        places = [builder.add(at, I64(n * k)) for k in range(vectors.GROUP_BYTES // vectors.width())]
        total = I64(0)
        for words in [builder.load(lanes.at(place), align=size) for place in places]:
            count = _split(lanes, words, builder.add(left, total), right, pivots)
            total = builder.add(total, count)
            right = builder.sub(builder.add(right, count), I64(n))
        return total

    return types.intp(keys, *[types.intp] * 3, keys.dtype), code


split_vector, split_group = intrinsic(_typed_vector), intrinsic(_typed_group)


def _split(lanes: Lanes, words: Any, left: Any, right: Any, pivots: Any) -> Any:
    """Pack a vector, store it at both ends of the free places, and return the number of keys that come first."""
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    if lanes.floats:
        above = builder.fcmp_unordered(">", builder.bitcast(words, lanes.keys), pivots)
    elif lanes.signed:
        above = builder.icmp_signed(">", words, pivots)
    else:
        above = builder.icmp_unsigned(">", words, pivots)
    pack = _packed if vectors.width() == 64 else _packed_by_table
    both, count = pack(lanes, words, above)
    builder.store(both, lanes.at(left), align=size)
    builder.store(both, lanes.at(builder.sub(right, I64(n))), align=size)
    return count


def _packed(lanes: Lanes, words: Any, above: Any) -> tuple[Any, Any]:
    """Return the vector with the keys above the pivot behind the others, and the number of the others."""
    builder, mask = lanes.builder, ir.IntType(lanes.number)
    first = builder.not_(above)
    count = builder.zext(call(builder, f"llvm.ctpop.i{lanes.number}", mask, builder.bitcast(first, mask)), I64)

    def instruction(kind: str, some: Any, others: Any, chosen: Any) -> Any:
        name = f"llvm.x86.avx512.mask.{kind}.v{lanes.number}i{lanes.bits}"
        return call(builder, name, lanes.words, some, others, chosen)

    low = instruction("compress", words, words, first)  # with zeros in the other lanes, Zen 4 and 5 wait for the last
    high = instruction("compress", words, words, above)  # result
    behind = builder.trunc(builder.shl(I32(-1), builder.trunc(count, I32)), mask)
    return instruction("expand", high, low, builder.bitcast(behind, lanes.chosen)), count


def _packed_by_table(lanes: Lanes, words: Any, above: Any) -> tuple[Any, Any]:
    """Return what `_packed` returns."""
    builder, n = lanes.builder, lanes.number
    chosen = builder.zext(builder.bitcast(above, ir.IntType(n)), I32)
    table = ir.Constant(ir.ArrayType(I32, 1 << n), [_entry(n, k) for k in range(1 << n)])
    made: Any = cgutils.global_constant(builder.module, f"smp.orders.{n}", table)
    entry = builder.load(builder.gep(made, [I32(0), chosen], inbounds=True))
    parts = ir.VectorType(I32, 8)
    shifts = ir.Constant(parts, [_BITS * place for place in range(8)])
    order = builder.lshr(spread(builder, entry, 8), shifts)
    both = call(builder, "llvm.x86.avx2.permd", parts, builder.bitcast(words, parts), order)
    count = builder.sub(I32(n), call(builder, "llvm.ctpop.i32", I32, chosen))
    return builder.bitcast(both, lanes.words), builder.zext(count, I64)


def _entry(lanes: int, above: int) -> int:
    """Return the entry of the table for the set of lanes whose keys are above the pivot."""
    order = sorted(range(lanes), key=lambda lane: above >> lane & 1)
    width = 8 // lanes  # in words of 32 bits
    places = [lane * width + part for lane in order for part in range(width)]
    return sum(place << _BITS * k for k, place in enumerate(places))
