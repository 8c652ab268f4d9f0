"""Vector code of ``split_vector`` and its like: a vector is packed in a register, and stored twice.

Where `vectors.store_chosen` says so, two instructions store the lanes up to the pivot, and the others, instead.

The lanes of a vector change places by a table, which has an order of lanes for each set of keys above the pivot:

    keys       5 9 2 7 1 8 6 3       pivot 5
    above      0 1 0 1 0 1 1 0       number of the entry
    entry      0 2 4 7 1 3 5 6       four bits for each place, taken apart by one shift
    packed     5 2 1 3 9 7 8 6

One instruction moves all the lanes.  That of AVX2 moves words of 32 bits, so a key of 64 bits has two places in an
entry there.  AVX-512 has instructions that pack without a table, but they take longer; see decision 0046.
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
_PLACES = 8
"""Places in an entry."""


def _lanes_in(context: Any, builder: Any, array: Any, value: Any) -> Lanes:
    return lanes_in(context, builder, array, value, vectors.most_split(array.dtype.bitwidth // 8))


def _splits(octets: int) -> Any:
    """Return the instruction that reads some bytes of keys, and splits them; 0 bytes stand for one vector."""

    def typed(typing: Any, source: Any, at: Any, keys: Any, left: Any, right: Any, pivot: Any) -> Any:
        check_keys(source)
        check_keys(keys)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source_, at, keys_, left, right, pivot = args
            given, lanes = (_lanes_in(context, builder, *each) for each in ((source, source_), (keys, keys_)))
            places = range(0, max(8 * octets // lanes.bits, 1), lanes.number)
            split = _split_chosen if vectors.store_chosen(lanes.bits // 8) else _split
            return split(lanes, [given.at(builder.add(at, I64(place))) for place in places], left, right, pivot)

        return types.intp(source, types.intp, keys, types.intp, types.intp, keys.dtype), code

    return intrinsic(typed)


split_vector, split_group = _splits(0), _splits(vectors.GROUP_BYTES)


def _typed_some(typing: Any, source: Any, at: Any, count: Any, keys: Any, left: Any, right: Any, pivot: Any) -> Any:
    check_keys(source)
    check_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source_, at, count, keys_, left, right, pivot = args
        given, lanes = (_lanes_in(context, builder, *each) for each in ((source, source_), (keys, keys_)))
        if vectors.store_chosen(lanes.bits // 8):
            return _split_chosen(lanes, [given.at(at)], left, right, pivot, count)
        return _split_some(lanes, given.at(at), count, lanes.at(left), lanes.at(right), pivot)

    return types.intp(source, types.intp, types.intp, keys, types.intp, types.intp, keys.dtype), code


split_some = intrinsic(_typed_some)


def _split_some(lanes: Lanes, place: Any, count: Any, left: Any, right: Any, pivot: Any) -> Any:
    """Read a vector and split its first keys; the others count as above the pivot, so that they come last.

    They are stored where the places on the right end, and what is there is stored again.
    """
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    others = builder.trunc(builder.shl(I64((1 << n) - 1), count), ir.IntType(n))
    words, behind = (builder.load(at, align=size) for at in (place, right))
    both, above = _packed(lanes, words, spread(builder, pivot, n), others)
    last = builder.gep(builder.bitcast(right, lanes.word.as_pointer()), [builder.neg(count)])
    for made, at in ((both, left), (both, builder.bitcast(last, right.type)), (behind, right)):
        builder.store(made, at, align=size)
    return builder.sub(I64(n), above)


def _split(lanes: Lanes, places: list[Any], left: Any, right: Any, pivot: Any) -> Any:
    """Read vectors, pack each, store it at both ends of the free places, and return how many keys come first."""
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    pivots = spread(builder, pivot, n)
    ends = [builder.bitcast(lanes.at(end), lanes.word.as_pointer()) for end in (left, right)]
    above = I64(0)  # both ends move by the number of keys above the pivot, so one subtraction does for both
    for k, words in enumerate([builder.load(place, align=size) for place in places]):
        both, count = _packed(lanes, words, pivots)
        for end, lane in zip(ends, (n * k, -n), strict=True):
            place = builder.gep(builder.gep(end, [builder.neg(above)]), [I64(lane)])
            builder.store(both, builder.bitcast(place, lanes.words.as_pointer()), align=size)
        above = builder.add(above, count)
    return builder.sub(I64(n * len(places)), above)


def _split_chosen(lanes: Lanes, places: list[Any], left: Any, right: Any, pivot: Any, count: Any = None) -> Any:
    """Read vectors, store the chosen lanes of each at either end of the free places, and return how many come first.

    The lanes from ``count`` on are neither read nor written.
    """
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    pivots, kind = spread(builder, pivot, n), f"v{n}i{lanes.bits}"
    ends = [builder.bitcast(lanes.at(end), lanes.word.as_pointer()) for end in (left, right)]
    if count is None:
        all_words = [builder.load(place, align=size) for place in places]
    else:
        counts = spread(builder, builder.trunc(count, lanes.word), n)
        read = builder.icmp_signed("<", ir.Constant(lanes.words, list(range(n))), counts)
        nothing = ir.Constant(lanes.words, None)
        load = f"llvm.masked.load.{kind}.p0"
        all_words = [call(builder, load, lanes.words, place, I32(size), read, nothing) for place in places]
    first, others = I64(0), I64(0)
    for words in all_words:
        above = _above(lanes, words, pivots)
        up_to = builder.not_(above)
        if count is not None:
            above, up_to = builder.and_(above, read), builder.and_(up_to, read)
        others = builder.add(others, _count(lanes, above))
        for end, moved, chosen in ((ends[0], first, up_to), (ends[1], builder.neg(others), above)):
            place = builder.gep(end, [moved])
            call(builder, f"llvm.masked.compressstore.{kind}", ir.VoidType(), words, place, chosen)
        first = builder.add(first, _count(lanes, up_to))
    return first


def _above(lanes: Lanes, words: Any, pivots: Any) -> Any:
    """Return which keys are above the pivot; NaN is."""
    builder = lanes.builder
    if lanes.floats:
        return builder.fcmp_unordered(">", builder.bitcast(words, lanes.keys), pivots)
    return (builder.icmp_signed if lanes.signed else builder.icmp_unsigned)(">", words, pivots)


def _count(lanes: Lanes, chosen: Any) -> Any:
    """Return how many lanes are chosen."""
    builder = lanes.builder
    bits = builder.zext(builder.bitcast(chosen, ir.IntType(lanes.number)), I64)
    return call(builder, "llvm.ctpop.i64", I64, bits)


def _packed(lanes: Lanes, words: Any, pivots: Any, others: Any = None) -> tuple[Any, Any]:
    """Return a vector with the keys above the pivot behind the others, and the number of those above.

    The lanes of ``others``, a number with one bit for each, count as above.
    """
    builder, n = lanes.builder, lanes.number
    bits = builder.bitcast(_above(lanes, words, pivots), ir.IntType(n))
    chosen = builder.zext(bits if others is None else builder.or_(bits, others), I64)
    part = lanes.word if n == _PLACES else I32
    table = ir.Constant(ir.ArrayType(part, 1 << n), [_entry(n, k) for k in range(1 << n)])
    made: Any = cgutils.global_constant(builder.module, f"smp.orders.{n}.{lanes.bits}", table)
    entry = builder.load(builder.gep(made, [I64(0), chosen], inbounds=True))
    parts = ir.VectorType(part, _PLACES)
    shifts = ir.Constant(parts, [_BITS * place for place in range(_PLACES)])
    order = builder.lshr(spread(builder, entry, _PLACES), shifts)
    name = "llvm.x86.avx2.permd" if part is I32 else "llvm.x86.avx512.permvar.di.512"
    both = call(builder, name, parts, builder.bitcast(words, parts), order)
    return builder.bitcast(both, lanes.words), call(builder, "llvm.ctpop.i64", I64, chosen)


def _entry(lanes: int, above: int) -> int:
    """Return the entry of the table for the set of lanes whose keys are above the pivot."""
    order = sorted(range(lanes), key=lambda lane: above >> lane & 1)
    width = _PLACES // lanes
    places = [lane * width + part for lane in order for part in range(width)]
    return sum(place << _BITS * k for k, place in enumerate(places))
