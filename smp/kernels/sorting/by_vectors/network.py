"""Vector code of ``sort_few``: sorting networks, on all lanes of all vectors at once.

    vectors   0   a c e g        keys are numbered down the columns here; a lane is a column
              1   b d f h

    columns   Batcher's odd-even mergesort of whole vectors, where no key changes its lane
    merges    Batcher's bitonic merges of 2, 4, ... columns: key i with key i ^ (length - 1), which turns the second
              half round, then i with i ^ (length / 4), ... , 1
    rows      bits of a key's vector and of its lane change places, until neighbours are in one vector

Most steps are between vectors, which takes one instruction for each.  Steps between lanes take three or four.

Places behind the last key hold the largest number.  NaN has no place in the order of floats, so the network sorts
nothing if it finds one, and its callers move NaN to the end.  All networks of a type in a module are one function,
since they take long to compile.

Source: K. E. Batcher, Sorting networks and their applications.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from . import vectors
from .lanes import I1, I32, I64, Lanes, call, check_keys, everywhere, lanes_in, spread

_SIZES = (1, 4, 8, vectors.MOST_VECTORS)
"""Vectors of the networks: a few keys go through the smallest that holds them."""


def _typed_sort(typing: Any, source: Any, at: Any, keys: Any, first: Any, count: Any) -> Any:
    check_keys(source)
    check_keys(keys)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source_, at, keys_, first, count = args
        lanes = lanes_in(context, builder, keys, keys_)
        read, written = lanes_in(context, builder, source, source_).at(at), lanes.at(first)
        return builder.call(_network(lanes, written.type), [read, written, count])

    return types.boolean(source, types.intp, keys, types.intp, types.intp), code


sort_few = intrinsic(_typed_sort)


def _network(lanes: Lanes, pointer: Any) -> Any:
    """Return the function that sorts some keys; all of a module that sort keys of this type call the same one."""
    module = lanes.builder.module
    name = f"smp.sort_few.{lanes.number}.{lanes.bits}.{lanes.floats:d}{lanes.signed:d}"
    if name in module.globals:
        return module.globals[name]
    made = ir.Function(module, ir.FunctionType(I1, [pointer, pointer, I64]), name)
    made.linkage = "internal"
    builder = ir.IRBuilder(made.append_basic_block("entry"))
    read, written, count = made.args
    lanes = lanes._replace(builder=builder)
    _align_stack(lanes)
    done = made.append_basic_block("sorted")
    for fewer, vectors_ in itertools.pairwise((0, *_SIZES)):
        some = made.append_basic_block(f"up_to_{vectors_}")
        more = made.append_basic_block(f"above_{vectors_}")
        builder.cbranch(builder.icmp_signed("<=", count, I64(vectors_ * lanes.number)), some, more)
        builder.position_at_end(some)
        _sort_vectors(lanes, read, written, count, fewer, vectors_, done)
        builder.position_at_end(more)
    builder.branch(done)
    builder.position_at_end(done)
    builder.ret(I1(1))
    return made


def _align_stack(lanes: Lanes) -> None:
    """Let the frame of the function begin at a multiple of a vector.

    There are more vectors than registers.  The compiler aligns those that it keeps on the stack only if something else
    on the stack must be aligned; otherwise half of them may cross two cache lines.
    """
    place = cgutils.alloca_once(lanes.builder, lanes.words)
    place.align = vectors.width()
    kind = ir.FunctionType(ir.VoidType(), [place.type])
    lanes.builder.call(ir.InlineAsm(kind, "", "r", side_effect=True), [place])  # else the place would be left out


def _sort_vectors(lanes: Lanes, read: Any, written: Any, count: Any, fewer: int, most: int, done: Any) -> None:
    """Sort more than ``fewer`` vectors, up to ``most``, and go on at ``done``.

    The lanes from ``count`` on are neither read nor written.
    """
    builder, n, size = lanes.builder, lanes.number, lanes.bits // 8
    kind = f"v{n}i{lanes.bits}.p0"
    counts = spread(builder, builder.trunc(count, lanes.word), n)
    sources, pointers = ([builder.gep(place, [I64(k)]) for k in range(most)] for place in (read, written))
    chosen = [
        builder.icmp_signed("<", ir.Constant(lanes.words, list(range(n * k, n * k + n))), counts) for k in range(most)
    ]
    last = _last(lanes)
    held = []
    for k, pointer in enumerate(sources):
        if k < fewer:
            words = builder.load(pointer, align=size)
        else:
            words = call(builder, f"llvm.masked.load.{kind}", lanes.words, pointer, I32(size), chosen[k], last)
        held.append(_ordinals(lanes, words))
    if lanes.floats:
        _leave_nan(lanes, held)
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
    for k, (ordinals, pointer) in enumerate(zip(held, pointers, strict=True)):
        words = _words(lanes, ordinals)
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
            other = turned(held[partner])
            least, most = _ordered(lanes, held[k], other)
            if k < partner:
                held[partner] = turned(builder.select(lower, most, least))
            elif lanes.floats:  # of two equal zeros, each lane takes its own
                least, _ = _ordered(lanes, other, held[k])
            held[k] = builder.select(lower, least, most)


def _ordered(lanes: Lanes, one: Any, other: Any) -> tuple[Any, Any]:
    """Return the lesser and the larger keys of two vectors."""
    builder = lanes.builder
    if lanes.floats:
        return _extreme(lanes, "min", one, other), _extreme(lanes, "max", other, one)
    less = (builder.icmp_unsigned if _stay_unsigned(lanes) else builder.icmp_signed)("<", one, other)
    return builder.select(less, one, other), builder.select(less, other, one)


def _extreme(lanes: Lanes, which: str, one: Any, other: Any) -> Any:
    """Return the lesser or the larger floats of two vectors ("min" or "max"); of equal zeros, that of the other one."""
    builder, kind = lanes.builder, "ps" if lanes.bits == 32 else "pd"
    if vectors.width() == 32:
        return call(builder, f"llvm.x86.avx.{which}.{kind}.256", lanes.keys, one, other)
    if vectors.has_avx512():
        as_set = I32(4)  # rounding is that of the CPU
        return call(builder, f"llvm.x86.avx512.{which}.{kind}.512", lanes.keys, one, other, as_set)
    taken = builder.fcmp_ordered("<" if which == "min" else ">", one, other)
    return builder.select(taken, one, other)


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


def _last(lanes: Lanes) -> Any:
    """Return vectors of the largest key, or of infinity."""
    if lanes.floats:
        return everywhere(lanes, 0x7F800000 if lanes.bits == 32 else 0x7FF0 << 48)
    return everywhere(lanes, (1 << (lanes.bits - 1)) - 1 if lanes.signed else -1)


def _leave_nan(lanes: Lanes, held: list[Any]) -> None:
    """Return False from the function if there is a NaN, which has no place in the order."""
    builder = lanes.builder
    pairs = zip(held[::2], held[1::2] or held, strict=True)
    found = functools.reduce(builder.or_, [builder.fcmp_unordered("uno", one, other) for one, other in pairs])
    nan, none = builder.append_basic_block("nan"), builder.append_basic_block("no_nan")
    bits = ir.IntType(lanes.number)
    builder.cbranch(builder.icmp_unsigned("!=", builder.bitcast(found, bits), bits(0)), nan, none)
    builder.position_at_end(nan)
    builder.ret(I1(0))
    builder.position_at_end(none)


def _ordinals(lanes: Lanes, words: Any) -> Any:
    """Return vectors that are compared as the keys are."""
    builder = lanes.builder
    if lanes.floats:
        return builder.bitcast(words, lanes.keys)
    flips = not (lanes.signed or _stay_unsigned(lanes))
    return builder.xor(words, everywhere(lanes, 1 << (lanes.bits - 1))) if flips else words


def _words(lanes: Lanes, ordinals: Any) -> Any:
    """Return the bits of the keys that are compared as these are."""
    return lanes.builder.bitcast(ordinals, lanes.words) if lanes.floats else _ordinals(lanes, ordinals)


def _stay_unsigned(lanes: Lanes) -> bool:
    """Return True for keys that are compared as unsigned integers; AVX2 has no such comparison for 64 bits."""
    return not lanes.signed and (lanes.bits == 32 or vectors.width() == 64)
