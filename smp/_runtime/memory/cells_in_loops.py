"""Cells in compiled loops: the type of a `Cells` argument, and the operations on it; imported together with Numba.

A loop is given five integers for the argument: the address of the cells, the address of the calling thread's record,
words per cell, the retry limit, and the number of cells.

The operations are those of ``cell``.  A value is converted to bits before the operation, and its result back to a
value afterwards.  The quick part of each operation is compiled into the loop.  The rest is a call of the runtime's own
machine code, which need not be compiled again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import (
    NativeValue,
    intrinsic,
    make_attribute_wrapper,
    models,
    register_model,
    unbox,
)
from numba.np.numpy_support import from_dtype

from smp.errors import Aborted

from ..loops import atomics
from ..loops.atomics import call_at, words_at
from ..loops.compiler import inline, merged, overloads
from ..protocols import cell
from ..protocols.cell import CELL_WORDS, FILL, PURGE, READFE, READFF, READXX, WRITEEF, WRITEFF, WRITEXF
from ..protocols.wait import CHANGING, OK
from ..protocols.waiters import BITS, FINISH, INSIST, PEEKED, TRIED, record_at
from . import cell_functions as functions
from .cell_values import addition
from .cells import SUPPORTED, Cells

_I64 = ir.IntType(64)
_MEMBERS = ("address", "own", "words", "limit", "count")


class CellsType(types.Type):
    """Cells whose values are of one dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.value, self.add = from_dtype(dtype), addition(dtype)
        super().__init__(name=f"Cells({dtype})")


@register_model(CellsType)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: CellsType) -> None:
        super().__init__(manager, kind, [(name, types.int64) for name in _MEMBERS])


for _name in _MEMBERS:
    make_attribute_wrapper(CellsType, _name, "_" + _name)


_types = {dtype: CellsType(dtype) for dtype in SUPPORTED}


# Numba asks a value for this attribute first. A type determined in another way would be made again at each call.
Cells._numba_type_ = property(lambda cells: _types[cells.dtype])  # type: ignore[attr-defined]


@unbox(CellsType)
def _unbox(kind: CellsType, cells: Any, context: Any) -> NativeValue:
    """Get the integers, in the thread that calls the loop."""
    builder = context.builder
    struct = cgutils.create_struct_proxy(kind)(context.context, builder)
    is_error = cgutils.alloca_once_value(builder, cgutils.true_bit)
    numbers = context.pyapi.object_getattr_string(cells, "_native")
    with builder.if_then(cgutils.is_not_null(builder, numbers)):  # it is null if that raises an exception
        native = context.unbox(types.containers.UniTuple(types.int64, len(_MEMBERS)), numbers)
        for k, name in enumerate(_MEMBERS):
            setattr(struct, name, builder.extract_value(native.value, k))
        builder.store(native.is_error, is_error)
        context.pyapi.decref(numbers)
    return NativeValue(struct._getvalue(), is_error=builder.load(is_error))


@intrinsic
def value_of(typing: Any, cells: Any, bits: Any) -> Any:
    """Return the value that the bits of a cell stand for."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.get_value_type(cells.value)
        low = args[1]
        if isinstance(cells.value, types.Boolean):
            return builder.icmp_unsigned("!=", builder.trunc(low, ir.IntType(8)), ir.Constant(ir.IntType(8), 0))
        if cells.value.bitwidth < 64:
            low = builder.trunc(low, ir.IntType(cells.value.bitwidth))
        return builder.bitcast(low, made) if isinstance(cells.value, types.Float) else low

    return cells.value(cells, types.int64), code


@intrinsic
def bits_of(typing: Any, cells: Any, value: Any) -> Any:
    """Convert a value to the cells' type, and return the bits that stand for it in a cell."""
    if isinstance(value, types.Float | types.Complex) and not isinstance(cells.value, types.Float):
        raise TypingError(f"a cell of {cells.value} cannot hold a {value}: convert it first, with int or round")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = args[1]
        if isinstance(cells.value, types.Float):
            bits = builder.bitcast(bits, ir.IntType(cells.value.bitwidth))
        return bits if bits.type == _I64 else builder.zext(bits, _I64)

    return types.int64(cells, cells.value), code


@merged
def _done(cells: Any, i: int, op: int, bits: int) -> int:
    """Do an operation that may wait; return the bits of its result."""
    address = cells._address + 8 * cells._words * i
    done, result = cell.quick(words_at(address, CELL_WORDS), 0, op, bits)
    if done:
        return int(result)
    return _insisted(cells, address, op, bits)


@inline
def _insisted(cells: Any, address: int, op: int, bits: int) -> int:
    """Carry on with an operation that `_done` could not do at once."""
    own = record_at(cells._own)
    own[BITS] = bits
    status = call_at(own[INSIST], address, cells._own, op, cells._limit, 0)
    while status == CHANGING:
        status = call_at(own[FINISH], address, cells._own, 0, 0, 0)
    if status != OK:
        raise Aborted
    return int(own[BITS])


@inline
def _tried(cells: Any, i: int, op: int, bits: int) -> tuple[bool, int]:
    """Do an operation if it need not wait."""
    own = record_at(cells._own)
    own[BITS] = bits
    status = call_at(own[TRIED], cells._address + 8 * cells._words * i, cells._own, op, 0, 0)
    return status == OK, own[BITS]


@inline
def _peeked(cells: Any, i: int) -> tuple[bool, int]:
    """Return whether a cell is full, and its bits."""
    own = record_at(cells._own)
    full = call_at(own[PEEKED], cells._address + 8 * cells._words * i, cells._own, 0, 0, 0)
    return full != 0, own[BITS]


@inline
def _with_value(cells: Any, found: tuple[bool, int]) -> tuple[bool, Any]:
    return found[0], value_of(cells, found[1])


def _adds(target: Any, i: Any, value: Any) -> Callable[..., Any]:
    """Return the implementation of the addition to a cell, or to an element of an array."""
    if not isinstance(target, CellsType):

        def add(target: Any, i: Any, value: Any) -> Any:
            return atomics.fetch_add(target, i, value)

        return add
    op = target.add

    def call(target: Any, i: Any, value: Any) -> Any:
        return value_of(target, _done(target, i, op, bits_of(target, value)))

    return call


def _tries_to_add(cells: Any, i: Any, value: Any) -> Callable[..., Any]:
    op = cells.add

    def call(cells: Any, i: Any, value: Any) -> Any:
        return _with_value(cells, _tried(cells, i, op, bits_of(cells, value)))

    return call


def _writes(op: int) -> Callable[..., Any]:
    def writes(cells: Any, i: Any, value: Any) -> Callable[..., Any]:
        def call(cells: Any, i: Any, value: Any) -> None:
            _done(cells, i, op, bits_of(cells, value))

        return call

    return writes


def _fills(cells: Any, i: Any) -> Callable[..., Any]:
    def call(cells: Any, i: Any) -> None:
        _done(cells, i, FILL, 0)

    return call


overloads(len, lambda cells: (lambda cells: cells._count) if isinstance(cells, CellsType) else None)
# Numba requires an implementation with the same parameters as the function.
overloads(functions.readfe, lambda cells, i: lambda cells, i: value_of(cells, _done(cells, i, READFE, 0)))
overloads(functions.readff, lambda cells, i: lambda cells, i: value_of(cells, _done(cells, i, READFF, 0)))
overloads(functions.readxx, lambda cells, i: lambda cells, i: value_of(cells, _tried(cells, i, READXX, 0)[1]))
overloads(functions.writeef, _writes(WRITEEF))
overloads(functions.writeff, _writes(WRITEFF))
overloads(functions.writexf, _writes(WRITEXF))
overloads(
    functions.purge,
    lambda cells, i, value=0: lambda cells, i, value=0: _done(cells, i, PURGE, bits_of(cells, value)),
)
overloads(functions.fill, _fills)
overloads(functions.fetch_add, _adds)
overloads(functions.try_readfe, lambda cells, i: lambda cells, i: _with_value(cells, _tried(cells, i, READFE, 0)))
overloads(functions.try_readff, lambda cells, i: lambda cells, i: _with_value(cells, _tried(cells, i, READFF, 0)))
overloads(
    functions.try_writeef,
    lambda cells, i, value: lambda cells, i, value: _tried(cells, i, WRITEEF, bits_of(cells, value))[0],
)
overloads(
    functions.try_writeff,
    lambda cells, i, value: lambda cells, i, value: _tried(cells, i, WRITEFF, bits_of(cells, value))[0],
)
overloads(functions.try_fetch_add, _tries_to_add)
overloads(functions.peek, lambda cells, i: lambda cells, i: _with_value(cells, _peeked(cells, i)))
