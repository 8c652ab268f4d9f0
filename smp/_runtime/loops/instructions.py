"""The machine instruction of each primitive in ``atomics``: LLVM atomics, intrinsics and C functions.

It is imported together with Numba, and by nothing else (see `atomics`).  The futex and the clocks are reached through
libc's ``syscall`` and ``clock_gettime``, declared as external symbols, because code that holds a
ctypes pointer could not be cached on disk.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import add_symbol, get_host_cpu_features
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.types.misc import StringLiteral
from numba.extending import intrinsic
from numba.np import arrayobj

from . import atomics, places
from . import bits as _bits
from .compiler import overloads
from .stepped import text as stepped
from .system_calls import FUTEX, LINUX, SINCE_START

ORDER = "seq_cst"  # one total order of all primitives: the protocols are described and modelled with it
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1  # shared between processes: not the private variants

Codegen = Callable[[Any, Any, Any, Any], Any]


def _element(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return a pointer to ``words[i]``; negative indices do not wrap around, and bounds are not checked."""
    array = arrayobj.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]])


def _words(words: Any, integer: bool = True) -> Any:
    """Return the element type of a one-dimensional array, or raise a typing error."""
    if not isinstance(words, types.Array) or words.ndim != 1:
        raise TypingError(f"atomics work on one-dimensional arrays, not on {words}")
    if not isinstance(words.dtype, types.Integer) and (integer or not isinstance(words.dtype, types.Float)):
        raise TypingError(f"this atomic does not work on elements of type {words.dtype}")
    return words.dtype


def _libc(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


@intrinsic
def _load(typing: Any, words: Any, i: Any) -> Any:
    dtype = _words(words, integer=False)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_element(context, builder, signature, args), ORDER, dtype.bitwidth // 8)

    return dtype(words, types.intp), code


def _store_in(order: str) -> Any:
    @intrinsic
    def instruction(typing: Any, words: Any, i: Any, value: Any) -> Any:
        dtype = _words(words, integer=False)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store_atomic(args[2], _element(context, builder, signature, args), order, dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(words, types.intp, dtype), code

    return instruction


_store = _store_in(ORDER)
_store_release = _store_in("release")


def _read_modify_write(operation: str) -> Any:
    @intrinsic
    def instruction(typing: Any, words: Any, i: Any, value: Any) -> Any:
        dtype = _words(words)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw(operation, _element(context, builder, signature, args), args[2], ORDER)

        return dtype(words, types.intp, dtype), code

    return instruction


_exchange = _read_modify_write("xchg")
_fetch_add = _read_modify_write("add")


@intrinsic
def _compare_exchange(typing: Any, words: Any, i: Any, expected: Any, value: Any) -> Any:
    dtype = _words(words)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature, args)
        return builder.extract_value(builder.cmpxchg(pointer, args[2], args[3], ORDER, ORDER), 0)

    return dtype(words, types.intp, dtype, dtype), code


@intrinsic
def _compare_exchange_pair(typing: Any, words: Any, i: Any, a: Any, b: Any, new_a: Any, new_b: Any) -> Any:
    wide = ir.IntType(128)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def pair(low: Any, high: Any) -> Any:
            return builder.or_(builder.zext(low, wide), builder.shl(builder.zext(high, wide), ir.Constant(wide, 64)))

        pointer = builder.bitcast(_element(context, builder, signature, args), wide.as_pointer())
        outcome = builder.cmpxchg(pointer, pair(*args[2:4]), pair(*args[4:6]), ORDER, ORDER)
        return builder.extract_value(outcome, 1)

    return types.boolean(words, types.intp, *[types.int64] * 4), code


@intrinsic
def _pause(typing: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            builder.call(_libc(builder, "llvm.x86.sse2.pause", ir.VoidType(), []), [])
        elif platform.machine() in ("aarch64", "arm64"):
            builder.call(_libc(builder, "llvm.aarch64.hint", ir.VoidType(), [_I32]), [_I32(1)])
        return context.get_dummy_value()

    return types.void(), code


def _prefetch_for(write: int) -> Any:
    @intrinsic
    def instruction(typing: Any, words: Any, i: Any) -> Any:
        if not isinstance(words, types.Array):
            raise TypingError(f"prefetch takes an array, not {words}")

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.bitcast(_element(context, builder, signature, args), cgutils.voidptr_t)
            function = _libc(builder, "llvm.prefetch.p0", ir.VoidType(), [cgutils.voidptr_t, _I32, _I32, _I32])
            builder.call(function, [pointer, _I32(write), _I32(3), _I32(1)])
            return context.get_dummy_value()

        return types.void(words, types.intp), code

    return instruction


_prefetch = _prefetch_for(0)
_prefetch_write = _prefetch_for(1)


def _flush_instruction() -> str:
    """Return the fastest flush instruction of the CPU; empty if it has none.

    ``clflushopt`` is the fastest, because it does not wait for the flush before it.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return ""
    return "llvm.x86.clflushopt" if get_host_cpu_features().get("clflushopt") else "llvm.x86.sse2.clflush"


@intrinsic
def _flush(typing: Any, words: Any, i: Any) -> Any:
    if not isinstance(words, types.Array):
        raise TypingError(f"flush takes an array, not {words}")
    name = _flush_instruction()

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if name:
            pointer = builder.bitcast(_element(context, builder, signature, args), cgutils.voidptr_t)
            builder.call(_libc(builder, name, ir.VoidType(), [cgutils.voidptr_t]), [pointer])
        return context.get_dummy_value()

    return types.void(words, types.intp), code


def _clock_of(kind: int) -> Any:
    @intrinsic
    def instruction(typing: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            when = cgutils.alloca_once(builder, ir.ArrayType(_I64, 2))
            function = _libc(builder, "clock_gettime", _I32, [_I32, cgutils.voidptr_t])
            builder.call(function, [_I32(kind), builder.bitcast(when, cgutils.voidptr_t)])
            pair = builder.load(when)
            seconds, rest = builder.extract_value(pair, 0), builder.extract_value(pair, 1)
            return builder.add(builder.mul(seconds, _I64(1_000_000_000)), rest)

        return types.int64(), code

    return instruction


_clock, _stamp = _clock_of(time.CLOCK_MONOTONIC), _clock_of(SINCE_START)
_thread_clock = _clock_of(time.CLOCK_THREAD_CPUTIME_ID)


@intrinsic
def _peek(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], ir.PointerType(_I64)))

    return types.int64(types.int64), code


@intrinsic
def _words_at(typing: Any, address: Any, count: Any) -> Any:
    array_type = types.Array(types.int64, 1, "C")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = arrayobj.make_array(array_type)(context, builder)
        arrayobj.populate_array(
            array,
            data=builder.inttoptr(args[0], array.data.type),
            shape=cgutils.pack_array(builder, [args[1]]),
            strides=cgutils.pack_array(builder, [_I64(8)]),
            itemsize=_I64(8),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(types.int64, types.int64), code


@intrinsic
def _call_at(typing: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(_I64, [_I64] * 5).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), args[1:])

    return types.int64(*[types.int64] * 6), code


@intrinsic
def _running_machine(typing: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        key = builder.module.globals.get(stepped.KEY)
        if key is None:
            key = ir.GlobalVariable(builder.module, _I32, stepped.KEY)
        function = _libc(builder, "pthread_getspecific", cgutils.voidptr_t, [_I32])
        return builder.ptrtoint(builder.call(function, [builder.load(key)]), _I64)

    return types.int64(), code


def _sleep_for(builder: Any, nanoseconds: Any) -> Any:
    """Return the address of a timespec on the stack."""
    when = cgutils.alloca_once(builder, ir.ArrayType(_I64, 2))
    billion = _I64(1_000_000_000)
    pair = builder.insert_value(ir.Constant(ir.ArrayType(_I64, 2), None), builder.sdiv(nanoseconds, billion), 0)
    builder.store(builder.insert_value(pair, builder.srem(nanoseconds, billion), 1), when)
    return builder.ptrtoint(when, _I64)


@intrinsic
def _futex_wait(typing: Any, words: Any, i: Any, expected: Any, nanoseconds: Any) -> Any:
    dtype = _words(words)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        when = _sleep_for(builder, args[3])
        if not LINUX:  # sleep for the given time; the caller looks again, as after any spurious wake-up
            nanosleep = _libc(builder, "nanosleep", _I32, [_I64, _I64])
            builder.call(nanosleep, [when, _I64(0)])
            return context.get_dummy_value()
        address = builder.ptrtoint(_element(context, builder, signature, args), _I64)
        expected = args[2] if args[2].type == _I64 else builder.zext(args[2], _I64)
        function = _libc(builder, "syscall", _I64, [_I64] * 7)
        wait = [_I64(FUTEX), address, _I64(_FUTEX_WAIT), expected, when, _I64(0), _I64(0)]
        builder.call(function, wait)
        return context.get_dummy_value()

    return types.void(words, types.intp, dtype, types.int64), code


@intrinsic
def _futex_wake(typing: Any, words: Any, i: Any, count: Any) -> Any:
    _words(words)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not LINUX:
            return _I64(0)
        address = builder.ptrtoint(_element(context, builder, signature, args), _I64)
        function = _libc(builder, "syscall", _I64, [_I64] * 7)
        wake = [_I64(FUTEX), address, _I64(_FUTEX_WAKE), args[2], _I64(0), _I64(0), _I64(0)]
        return builder.call(function, wake)

    return types.int64(words, types.intp, types.int64), code


def _bits_to(floating: Any, narrow: Any) -> Any:
    """Make an instruction that returns the float whose bits are the low ones of an int64."""

    @intrinsic
    def instruction(typing: Any, bits: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            low = args[0] if narrow == _I64 else builder.trunc(args[0], narrow)
            return builder.bitcast(low, context.get_value_type(floating))

        return floating(types.int64), code

    return instruction


def _bits_of(floating: Any, narrow: Any) -> Any:
    @intrinsic
    def instruction(typing: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            bits = builder.bitcast(args[0], narrow)
            return bits if narrow == _I64 else builder.zext(bits, _I64)

        return types.int64(floating), code

    return instruction


_float64_of, _bits_of_float64 = _bits_to(types.float64, _I64), _bits_of(types.float64, _I64)
_float32_of, _bits_of_float32 = _bits_to(types.float32, _I32), _bits_of(types.float32, _I32)


add_symbol(places.SYMBOL, places.PLACES.table.ctypes.data)


@intrinsic
def _delay(typing: Any, name: Any) -> Any:
    if not isinstance(name, StringLiteral):
        return None  # Numba then asks again, with the literal if the name is one
    text = name.literal_value
    table_type = ir.ArrayType(_I64, places.SLOTS)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table = builder.module.globals.get(places.SYMBOL)
        if table is None:
            table = ir.GlobalVariable(builder.module, table_type, places.SYMBOL)
        slot = builder.gep(table, [_I64(0), _I64(places.slot_of(text))], inbounds=True)
        record = builder.load(slot)
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", record, _I64(0))):
            function = ir.FunctionType(_I64, [_I64] * 3).as_pointer()
            entry = builder.load(builder.inttoptr(record, function.as_pointer()))
            place = builder.ptrtoint(context.insert_const_string(builder.module, text), _I64)
            builder.call(entry, [record, _I64(places.key_of(text)), place])
        return context.get_dummy_value()

    return types.void(name), code


def _named_place(name: Any) -> Any:
    if not isinstance(name, StringLiteral):  # Numba asks first without the literal, then with it
        raise TypingError(f'delay takes the name of a place as a literal, delay("swap"), not a value of type {name}')
    return lambda name: _delay(name)


# Numba wants a lambda with the same parameters for each function; the parameter names are those in ``atomics``.
overloads(atomics.load, lambda words, i: lambda words, i: _load(words, i))
overloads(atomics.store, lambda words, i, value: lambda words, i, value: _store(words, i, value))
overloads(atomics.store_release, lambda words, i, value: lambda words, i, value: _store_release(words, i, value))
overloads(atomics.exchange, lambda words, i, value: lambda words, i, value: _exchange(words, i, value))
overloads(
    atomics.compare_exchange,
    lambda words, i, expected, value: lambda words, i, expected, value: _compare_exchange(words, i, expected, value),
)
overloads(
    atomics.compare_exchange_pair,
    lambda words, i, a, b, new_a, new_b: (
        lambda words, i, a, b, new_a, new_b: _compare_exchange_pair(words, i, a, b, new_a, new_b)
    ),
)
overloads(atomics.fetch_add, lambda words, i, value: lambda words, i, value: _fetch_add(words, i, value))
overloads(atomics.pause, lambda: lambda: _pause())
overloads(atomics.prefetch, lambda words, i: lambda words, i: _prefetch(words, i))
overloads(atomics.prefetch_write, lambda words, i: lambda words, i: _prefetch_write(words, i))
overloads(atomics.flush, lambda words, i: lambda words, i: _flush(words, i))
overloads(atomics.clock, lambda: lambda: _clock())
overloads(atomics.thread_clock, lambda: lambda: _thread_clock())
overloads(atomics.stamp, lambda: lambda: _stamp())
overloads(atomics.peek, lambda address: lambda address: _peek(address))
overloads(atomics.words_at, lambda address, count: lambda address, count: _words_at(address, count))
overloads(
    atomics.call_at,
    lambda address, a, b, c, d, e: lambda address, a, b, c, d, e: _call_at(address, a, b, c, d, e),
)
overloads(
    atomics.futex_wait,
    lambda words, i, expected, nanoseconds: (
        lambda words, i, expected, nanoseconds: _futex_wait(words, i, expected, nanoseconds)
    ),
)
overloads(atomics.futex_wake, lambda words, i, count: lambda words, i, count: _futex_wake(words, i, count))
overloads(stepped.running_machine, lambda: lambda: _running_machine())
overloads(places.delay, lambda name: _named_place(name))
overloads(_bits.sum_of, lambda a, b: lambda a, b: a + b)
overloads(_bits.float64_of, lambda bits: lambda bits: _float64_of(bits))
overloads(_bits.bits_of_float64, lambda value: lambda value: _bits_of_float64(value))
overloads(_bits.float32_of, lambda bits: lambda bits: _float32_of(bits))
overloads(_bits.bits_of_float32, lambda value: lambda value: _bits_of_float32(value))
