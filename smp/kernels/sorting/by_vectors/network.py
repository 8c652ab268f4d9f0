"""Vector code of ``sort_few``: sorting networks, on all lanes of all vectors at once.

    vectors   0   a c e g        keys are numbered down the columns here; a lane is a column
              1   b d f h

    columns   Batcher's odd-even mergesort of whole vectors, where no key changes its lane
    merges    Batcher's bitonic merges of 2, 4, ... columns: key i with key i ^ (length - 1), which turns the second
              half round, then i with i ^ (length / 4), ... , 1
    rows      bits of a key's vector and of its lane change places, until neighbours are in one vector

Most steps are between vectors, which takes one instruction for each.  Steps between lanes take three or four.

Places behind the last key hold the largest number.  Floats are sorted as the signed integers that are in their order,
after every NaN was replaced by one that comes last.

Source: K. E. Batcher, Sorting networks and their applications.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from . import vectors
from .lanes import I32, I64, Lanes, call, check_keys, everywhere, lanes_in, spread

_SIZES = (1, 4, 8, vectors.MOST_VECTORS)
"""Vectors of the networks: a few keys go through the smallest that holds them."""


def _typed_sort(typing: Any, keys: Any, first: Any, count: Any) -> Any:
    check_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = lanes_in(context, builder, keys, args[0])
        _, first, count = args
        _align_stack(lanes)
        done = builder.append_basic_block("sorted")
        for fewer, vectors_ in itertools.pairwise((0, *_SIZES)):
            some = builder.append_basic_block(f"up_to_{vectors_}")
            more = builder.append_basic_block(f"above_{vectors_}")
            builder.cbranch(builder.icmp_signed("<=", count, I64(vectors_ * lanes.number)), some, more)
            builder.position_at_end(some)
            _sort_vectors(lanes, first, count, fewer, vectors_, done)
            builder.position_at_end(more)
        builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(keys, types.intp, types.intp), code


sort_few = intrinsic(_typed_sort)


def _align_stack(lanes: Lanes) -> None:
    """Let the frame of the function begin at a multiple of a vector.

    There are more vectors than registers.  The compiler aligns those that it keeps on the stack only if something else
    on the stack must be aligned; otherwise half of them may cross two cache lines.
    """
    place = cgutils.alloca_once(lanes.builder, lanes.words)
    place.align = vectors.width()
    kind = ir.FunctionType(ir.VoidType(), [place.type])
    lanes.builder.call(ir.InlineAsm(kind, "", "r", side_effect=True), [place])  # else the place would be left out


def _sort_vectors(lanes: Lanes, first: Any, count: Any, fewer: int, most: int, done: Any) -> None:
    """Sort more than ``fewer`` vectors, up to ``most``, and go on at ``done``.

    The lanes from ``count`` on are neither read nor written.
    """
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    kind = f"v{n}i{lanes.bits}.p0"
    counts = spread(builder, builder.trunc(count, lanes.word), n)
    pointers = [lanes.at(builder.add(first, I64(n * k))) for k in range(most)]
    chosen = [
        builder.icmp_signed("<", ir.Constant(lanes.words, list(range(n * k, n * k + n))), counts) for k in range(most)
    ]
    last = everywhere(lanes, (1 << (lanes.bits - 1)) - 1 if lanes.signed else -1)
    held = []
    for k, pointer in enumerate(pointers):
        if k < fewer:
            words = builder.load(pointer, align=size)
        else:
            words = call(builder, f"llvm.masked.load.{kind}", lanes.words, pointer, I32(size), chosen[k], last)
        held.append(_integers(lanes, words))
    for low, high in _columns(most):
        held[low], held[high] = _ordered(lanes, held[low], held[high])
    length = 2 * most
    while length <= n * most:
        _exchange(lanes, held, length - 1)
        step = length // 4
        while step:
            _exchange(lanes, held, step)
            step //= 2
        length *= 2
    held = _rows(lanes, held)
    for k, (integers, pointer) in enumerate(zip(held, pointers, strict=True)):
        words = _words(lanes, integers)
        if k >= fewer:  # one vector at most is stored by its lanes, which takes long on some CPUs
            whole, rest = builder.append_basic_block(f"whole_{k}"), builder.append_basic_block(f"rest_{k}")
            builder.cbranch(builder.icmp_signed(">=", count, I64(n * (k + 1))), whole, rest)
            builder.position_at_end(rest)
            call(builder, f"llvm.masked.store.{kind}", ir.VoidType(), words, pointer, I32(size), chosen[k])
            builder.branch(done)
            builder.position_at_end(whole)
        builder.store(words, pointer, align=size)
    builder.branch(done)


def _columns(count: int) -> Iterator[tuple[int, int]]:
    """Yield the vectors that are compared to sort all columns."""
    for sorted_ in (1 << k for k in range(count.bit_length() - 1)):
        step = sorted_
        while step:
            for low in range(step % sorted_, count - step):
                same = low // (2 * sorted_) == (low + step) // (2 * sorted_)
                if same and (low - step % sorted_) // step % 2 == 0:
                    yield low, low + step
            step //= 2


def _exchange(lanes: Lanes, held: list[Any], turn: int) -> None:
    """Order all pairs of keys whose numbers differ in the bits of ``turn``."""
    builder, n, count = lanes.builder, lanes.number, len(held)
    between, inside = turn % count, turn // count
    lower = ir.Constant(lanes.chosen, [i < i ^ inside for i in range(n)])

    def turned(words: Any) -> Any:
        return _moved(lanes, words, [i ^ inside for i in range(n)])

    for k in range(count):
        partner = k ^ between
        if not inside and k < partner:
            held[k], held[partner] = _ordered(lanes, held[k], held[partner])
        elif inside and k <= partner:
            least, most = _ordered(lanes, held[k], turned(held[partner]))
            if k < partner:
                held[partner] = turned(builder.select(lower, most, least))
            held[k] = builder.select(lower, least, most)


def _ordered(lanes: Lanes, one: Any, other: Any) -> tuple[Any, Any]:
    """Return the lesser and the larger keys of two vectors."""
    builder = lanes.builder
    less = (builder.icmp_unsigned if _stay_unsigned(lanes) else builder.icmp_signed)("<", one, other)
    return builder.select(less, one, other), builder.select(less, other, one)


def _rows(lanes: Lanes, held: list[Any]) -> list[Any]:
    """Return vectors with the keys along the rows."""
    n, count = lanes.number, len(held)
    bits = min(n, count).bit_length() - 1
    kept = n >> bits  # neighbouring lanes that stay together
    made = list(held)
    for k in range(bits):
        for low in (low for low in range(count) if not low >> k & 1):
            one, other, bit = made[low], made[low | 1 << k], kept << k
            made[low] = _joined(lanes, one, other, [i ^ bit | n if i & bit else i for i in range(n)])
            made[low | 1 << k] = _joined(lanes, one, other, [i | n if i & bit else i ^ bit for i in range(n)])
    if count > n:
        return [made[row // (count // n) + row % (count // n) * n] for row in range(count)]
    return [_moved(lanes, words, [i % count * kept + i // count for i in range(n)]) for words in made]


def _moved(lanes: Lanes, words: Any, order: list[int]) -> Any:
    return words if order == sorted(order) else _joined(lanes, words, words, order)


def _joined(lanes: Lanes, one: Any, other: Any, order: list[int]) -> Any:
    """Return the lanes of two vectors in an order; those of the other vector are numbered on."""
    return lanes.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(I32, lanes.number), order))


def _integers(lanes: Lanes, words: Any) -> Any:
    """Return the integers in the order of the keys, NaN last."""
    builder = lanes.builder
    if not lanes.floats:
        flips = not (lanes.signed or _stay_unsigned(lanes))
        return builder.xor(words, everywhere(lanes, 1 << (lanes.bits - 1))) if flips else words
    keys = builder.bitcast(words, lanes.keys)
    last = everywhere(lanes, (1 << (lanes.bits - 1)) - 1)
    return builder.select(builder.fcmp_unordered("uno", keys, keys), last, _flipped(lanes, words))


def _words(lanes: Lanes, integers: Any) -> Any:
    """Return the bits of the keys that have these integers."""
    return _flipped(lanes, integers) if lanes.floats else _integers(lanes, integers)


def _stay_unsigned(lanes: Lanes) -> bool:
    """Return True for keys that are compared as unsigned integers; AVX2 has no such comparison for 64 bits."""
    return not lanes.signed and (lanes.bits == 32 or vectors.width() == 64)


def _flipped(lanes: Lanes, words: Any) -> Any:
    """Return the integers of negative floats with all bits but the sign flipped; twice gives the same again."""
    builder = lanes.builder
    negative = builder.ashr(words, everywhere(lanes, lanes.bits - 1))
    return builder.xor(words, builder.and_(negative, everywhere(lanes, (1 << (lanes.bits - 1)) - 1)))
