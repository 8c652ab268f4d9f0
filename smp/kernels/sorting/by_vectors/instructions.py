"""Vector code of ``vectors``: AVX-512's instructions for packing, and a sorting network; imported together with Numba.

The network is Batcher's bitonic sorter, on all lanes of all vectors at once:

    for each length 2, 4, 8, ...       sort blocks of this length, whose halves are sorted
        lane i with lane i ^ (length - 1)              the first step turns the second half round
        lane i with lane i ^ (length / 4), ... , 1     the smaller of two keys goes to the lower lane

Lanes behind the last key hold the largest number.  Floats are sorted as the signed integers that are in their order,
after every NaN was replaced by one that comes last.

On a CPU without the instructions, loops run the definitions in ``vectors``.

Source: K. E. Batcher, Sorting networks and their applications.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from smp._runtime.loops.compiler import overloads

from ..keys import Keys
from . import vectors

_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_TYPES = (types.int32, types.int64, types.uint32, types.uint64, types.float32, types.float64)
_SIZES = (1, 4, 8, vectors.MOST_VECTORS)
"""Vectors of the networks: a few keys go through the smallest that holds them."""


class _Lanes:
    """Vectors of keys of one type, in the making of a function."""

    def __init__(self, context: Any, builder: Any, array: Any, value: Any) -> None:
        dtype = array.dtype
        self.builder, self.bits = builder, dtype.bitwidth
        self.count = 8 * vectors.VECTOR // self.bits
        self.floats = isinstance(dtype, types.Float)
        self.signed = self.floats or dtype.signed
        self.element = context.get_data_type(dtype)
        self.word = ir.IntType(self.bits)
        self.words, self.keys = ir.VectorType(self.word, self.count), ir.VectorType(self.element, self.count)
        self.chosen = ir.VectorType(_I1, self.count)
        helper: Any = arrayobj.make_array
        made = helper(array)(context, builder, value)
        self._at: Any = lambda place: cgutils.get_item_pointer(context, builder, array, made, [place])

    def at(self, place: Any) -> Any:
        """Return a pointer to the vector that begins at a place."""
        return self.builder.bitcast(self._at(place), self.words.as_pointer())

    def all(self, number: int) -> Any:
        """Return a number in all lanes."""
        return ir.Constant(self.words, [number % (1 << self.bits)] * self.count)

    def call(self, name: str, result: Any, *args: Any) -> Any:
        function = ir.FunctionType(result, [arg.type for arg in args])
        declared: Any = cgutils.get_or_insert_function(self.builder.module, function, name)
        return self.builder.call(declared, args)

    def pivots(self, pivot: Any) -> Any:
        """Return a key in all lanes."""
        nothing = ir.Constant(self.keys, ir.Undefined)
        one = self.builder.insert_element(nothing, pivot, _I32(0))
        first = ir.Constant(ir.VectorType(_I32, self.count), [0] * self.count)
        return self.builder.shuffle_vector(one, nothing, first)

    def packed(self, kind: str, words: Any, other: Any, chosen: Any) -> Any:
        name = f"llvm.x86.avx512.mask.{kind}.v{self.count}i{self.bits}"
        return self.call(name, self.words, words, other, chosen)


def _is_keys(keys: Any) -> None:
    if not isinstance(keys, types.Array) or keys.ndim != 1 or keys.layout != "C":
        raise TypingError(f"keys must be a C-contiguous array of one dimension, not {keys}")
    if keys.dtype not in _TYPES:
        raise TypingError(f"keys must be integers or floats of 32 or 64 bits, not {keys.dtype}")


def _typed_split(typing: Any, source: Any, at: Any, keys: Any, left: Any, right: Any, pivot: Any) -> Any:
    _is_keys(source)
    _is_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source_, at, keys_, left, right, pivot = args
        given, lanes = _Lanes(context, builder, source, source_), _Lanes(context, builder, keys, keys_)
        words = builder.load(given.at(at), align=lanes.bits // 8)
        return _split(lanes, words, left, right, lanes.pivots(pivot))

    return types.intp(source, types.intp, keys, types.intp, types.intp, keys.dtype), code


def _typed_group(typing: Any, keys: Any, at: Any, left: Any, right: Any, pivot: Any) -> Any:
    _is_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder, keys, args[0])
        at, left, right, pivot = args[1:]
        n, size = lanes.count, lanes.bits // 8
        pivots = lanes.pivots(pivot)
        read = [builder.load(lanes.at(builder.add(at, _I64(n * k))), align=size) for k in range(vectors.GROUP)]
        total = _I64(0)
        for words in read:
            count = _split(lanes, words, builder.add(left, total), right, pivots)
            total = builder.add(total, count)
            right = builder.sub(builder.add(right, count), _I64(n))
        return total

    return types.intp(keys, *[types.intp] * 3, keys.dtype), code


def _split(lanes: _Lanes, words: Any, left: Any, right: Any, pivots: Any) -> Any:
    """Pack a vector, store it at both ends of the free places, and return the number of keys that come first."""
    builder, n, size = lanes.builder, lanes.count, lanes.bits // 8
    if lanes.floats:
        first = builder.fcmp_ordered("<=", builder.bitcast(words, lanes.keys), pivots)
    elif lanes.signed:
        first = builder.icmp_signed("<=", words, pivots)
    else:
        first = builder.icmp_unsigned("<=", words, pivots)
    mask = ir.IntType(n)
    count = builder.zext(lanes.call(f"llvm.ctpop.i{n}", mask, builder.bitcast(first, mask)), _I64)
    low = lanes.packed("compress", words, words, first)  # with zeros in the other lanes, Zen 4 and 5 wait for the
    high = lanes.packed("compress", words, words, builder.not_(first))  # last result
    behind = builder.trunc(builder.shl(_I32(-1), builder.trunc(count, _I32)), mask)
    both = lanes.packed("expand", high, low, builder.bitcast(behind, lanes.chosen))
    builder.store(both, lanes.at(left), align=size)
    builder.store(both, lanes.at(builder.sub(right, _I64(n))), align=size)
    return count


def _typed_sort(typing: Any, keys: Any, first: Any, count: Any) -> Any:
    _is_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder, keys, args[0])
        _, first, count = args
        _align_stack(lanes)
        done = builder.append_basic_block("sorted")
        for vectors_ in _SIZES[:-1]:
            few = builder.icmp_signed("<=", count, _I64(vectors_ * lanes.count))
            with builder.if_then(few):
                _sort_vectors(lanes, first, count, vectors_)
                builder.branch(done)
                builder.position_at_end(builder.append_basic_block("unreachable"))
        _sort_vectors(lanes, first, count, _SIZES[-1])
        builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(keys, types.intp, types.intp), code


def _align_stack(lanes: _Lanes) -> None:
    """Let the frame of the function begin at a multiple of a vector.

    There are more vectors than registers.  The compiler aligns those that it keeps on the stack only if something else
    on the stack must be aligned; otherwise half of them may cross two cache lines.
    """
    place = cgutils.alloca_once(lanes.builder, lanes.words)
    place.align = vectors.VECTOR
    kind = ir.FunctionType(ir.VoidType(), [place.type])
    lanes.builder.call(ir.InlineAsm(kind, "", "r", side_effect=True), [place])  # else the place would be left out


def _sort_vectors(lanes: _Lanes, first: Any, count: Any, vectors_: int) -> None:
    """Sort up to this number of vectors: the lanes from ``count`` on are neither read nor written."""
    builder, n, size = lanes.builder, lanes.count, _I32(lanes.bits // 8)
    places = ir.Constant(ir.VectorType(_I64, n), list(range(n)))
    nothing = ir.Constant(places.type, ir.Undefined)
    counts = builder.shuffle_vector(
        builder.insert_element(nothing, count, _I32(0)), nothing, ir.Constant(ir.VectorType(_I32, n), [0] * n)
    )
    last = lanes.all((1 << (lanes.bits - 1)) - 1 if lanes.signed else -1)
    kind = f"v{n}i{lanes.bits}.p0"
    held, there = [], []
    for k in range(vectors_):
        pointer = lanes.at(builder.add(first, _I64(n * k)))
        place = builder.add(places, ir.Constant(places.type, [n * k] * n))
        there.append((pointer, builder.icmp_signed("<", place, counts)))
        words = lanes.call(f"llvm.masked.load.{kind}", lanes.words, pointer, size, there[-1][1], last)
        held.append(_as_integers(lanes, words) if lanes.floats else words)
    length = 2
    while length <= n * vectors_:
        _exchange(lanes, held, length - 1)
        step = length // 4
        while step:
            _exchange(lanes, held, step)
            step //= 2
        length *= 2
    for words, (pointer, chosen) in zip(held, there, strict=True):
        made = _flipped(lanes, words) if lanes.floats else words
        lanes.call(f"llvm.masked.store.{kind}", ir.VoidType(), made, pointer, size, chosen)


def _exchange(lanes: _Lanes, held: list[Any], turn: int) -> None:
    """Order all pairs of lanes whose numbers differ in the bits of ``turn``."""
    builder, n = lanes.builder, lanes.count
    inside = turn % n
    order = ir.Constant(ir.VectorType(_I32, n), [i ^ inside for i in range(n)])
    lower = ir.Constant(lanes.chosen, [i < i ^ inside for i in range(n)])

    def turned(words: Any) -> Any:
        return builder.shuffle_vector(words, words, order) if inside else words

    compared = builder.icmp_signed if lanes.signed else builder.icmp_unsigned
    for k, words in enumerate(held):
        partner = k ^ (turn // n)
        if partner == k:
            other = turned(words)
            less = compared("<", words, other)
            least, most = builder.select(less, words, other), builder.select(less, other, words)
            held[k] = builder.select(lower, least, most)
        elif partner > k:
            other = turned(held[partner])
            less = compared("<", words, other)
            held[k] = builder.select(less, words, other)
            held[partner] = turned(builder.select(less, other, words))


def _as_integers(lanes: _Lanes, words: Any) -> Any:
    """Return the signed integers that are in the order of floats, NaN last."""
    builder = lanes.builder
    keys = builder.bitcast(words, lanes.keys)
    flipped = _flipped(lanes, words)
    return builder.select(builder.fcmp_unordered("uno", keys, keys), lanes.all((1 << (lanes.bits - 1)) - 1), flipped)


def _flipped(lanes: _Lanes, words: Any) -> Any:
    """Return the integers of negative floats with all bits but the sign flipped; twice gives the same again."""
    builder = lanes.builder
    negative = builder.ashr(words, lanes.all(lanes.bits - 1))
    return builder.xor(words, builder.and_(negative, lanes.all((1 << (lanes.bits - 1)) - 1)))


_split_vector, _split_group, _sort_few = intrinsic(_typed_split), intrinsic(_typed_group), intrinsic(_typed_sort)


# Numba compares the names and types of the parameters of all these functions.
def _of_vector(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
    def with_vectors(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
        return _split_vector(source, at, keys, left, right, pivot)

    return with_vectors if vectors.has_vectors() else vectors.split_vector


def _of_group(keys: Keys, at: int, left: int, right: int, pivot: Any) -> Any:
    def with_vectors(keys: Keys, at: int, left: int, right: int, pivot: Any) -> Any:
        return _split_group(keys, at, left, right, pivot)

    return with_vectors if vectors.has_vectors() else vectors.split_group


def _of_few(keys: Keys, first: int, count: int) -> Any:
    def with_vectors(keys: Keys, first: int, count: int) -> None:
        _sort_few(keys, first, count)

    return with_vectors if vectors.has_vectors() else vectors.sort_few


def _of_before(key: Any) -> Any:
    kind: Any = getattr(np, str(key))
    floats = isinstance(key, types.Float)
    end, one = kind(-np.inf if floats else np.iinfo(kind).min), kind(1)

    def of_floats(key: Any) -> Any:
        return np.nextafter(key, end)

    def of_integers(key: Any) -> Any:
        return kind(key - one) if key > end else key

    return of_floats if floats else of_integers


overloads(vectors.split_vector, _of_vector)
overloads(vectors.split_group, _of_group)
overloads(vectors.sort_few, _of_few)
overloads(vectors.before, _of_before)
