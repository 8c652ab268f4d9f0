"""Vector code of ``sort_few``: sorting networks, on all lanes of all vectors at once.

    vectors   0   a c e g        keys are numbered down the columns here; a lane is a column
              1   b d f h

    columns   Batcher's odd-even mergesort of whole vectors, where no key changes its lane
    merges    2, 4, ... columns become one, see ``merges``; then neighbours are in one vector

Places behind the last key hold the largest number.  NaN has no place in the order of floats, so the network sorts
nothing if it finds one, and its callers move NaN to the end.  All networks of a type in a module are one function,
since they take long to compile.

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
from .comparing import last, leave_nan, ordered, ordinals_of, words_of
from .lanes import I1, I32, I64, Lanes, call, check_keys, lanes_in, spread
from .merges import merged

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
    behind, held = last(lanes), []
    for k, pointer in enumerate(sources):
        if k < fewer:
            words = builder.load(pointer, align=size)
        else:
            words = call(builder, f"llvm.masked.load.{kind}", lanes.words, pointer, I32(size), chosen[k], behind)
        held.append(ordinals_of(lanes, words))
    if lanes.floats:
        leave_nan(lanes, held)
    for low, high in _columns(most):
        held[low], held[high] = ordered(lanes, held[low], held[high])
    for k, (ordinals, pointer) in enumerate(zip(merged(lanes, held), pointers, strict=True)):
        words = words_of(lanes, ordinals)
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
