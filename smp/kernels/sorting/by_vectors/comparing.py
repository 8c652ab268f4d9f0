"""Instructions that compare whole vectors of keys, lane by lane.

Keys are compared as ordinals: floats as floats, and integers as signed ones where the CPU compares no others.

    one      5 2 7 1
    other    3 8 7 4
    lesser   3 2 7 1        one instruction; for floats, the lane of ``other`` if two keys are equal
    larger   5 8 7 4        another one; with AVX-512 one ^ other ^ lesser for integers, which more units of a CPU do

Two zeros with different signs are equal floats, and both must come out.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from . import vectors
from .lanes import I1, I32, Lanes, call, everywhere


def ordered(lanes: Lanes, one: Any, other: Any) -> tuple[Any, Any]:
    """Return the lesser and the larger keys of two vectors."""
    lesser, larger = _extremes(lanes, one, other)
    if vectors.width() == 64 and not lanes.floats:
        larger = lanes.builder.xor(lanes.builder.xor(one, other), lesser)
    return lesser, larger


def ordered_within(lanes: Lanes, words: Any, turned: Any, lower: Any) -> Any:
    """Compare a vector with itself, turned; return the lesser keys in the ``lower`` lanes, and the larger in others."""
    lesser, larger = _extremes(lanes, words, turned)
    if lanes.floats:  # of two equal zeros, each lane takes its own
        lesser = _extreme(lanes, "min", turned, words)
    return lanes.builder.select(lower, lesser, larger)


def last(lanes: Lanes) -> Any:
    """Return vectors of the largest key, or of infinity."""
    if lanes.floats:
        return everywhere(lanes, 0x7F800000 if lanes.bits == 32 else 0x7FF0 << 48)
    return everywhere(lanes, (1 << (lanes.bits - 1)) - 1 if lanes.signed else -1)


def leave_nan(lanes: Lanes, held: list[Any]) -> None:
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


def ordinals_of(lanes: Lanes, words: Any) -> Any:
    """Return vectors that are compared as the keys are."""
    builder = lanes.builder
    if lanes.floats:
        return builder.bitcast(words, lanes.keys)
    flips = not (lanes.signed or _stay_unsigned(lanes))
    return builder.xor(words, everywhere(lanes, 1 << (lanes.bits - 1))) if flips else words


def words_of(lanes: Lanes, ordinals: Any) -> Any:
    """Return the bits of the keys that are compared as these are."""
    return lanes.builder.bitcast(ordinals, lanes.words) if lanes.floats else ordinals_of(lanes, ordinals)


def _extremes(lanes: Lanes, one: Any, other: Any) -> tuple[Any, Any]:
    """Return the lesser and the larger keys of two vectors, each by one instruction."""
    if lanes.floats:
        return _extreme(lanes, "min", one, other), _extreme(lanes, "max", other, one)
    builder = lanes.builder
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


def _stay_unsigned(lanes: Lanes) -> bool:
    """Return True for keys that are compared as unsigned integers; AVX2 has no such comparison for 64 bits."""
    return not lanes.signed and (lanes.bits == 32 or vectors.width() == 64)
