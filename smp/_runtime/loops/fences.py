"""The machine code of the fences on other CPUs (see `atomics`): the system call ``membarrier``.

It is imported together with Numba, and by nothing else.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from . import atomics
from .compiler import overloads
from .instructions import _I64, _libc
from .system_calls import LINUX, MEMBARRIER

_GLOBAL_EXPEDITED, _REGISTER_GLOBAL_EXPEDITED = 2, 4  # of `membarrier`: since Linux 4.16


def _membarrier(builder: Any, command: int) -> Any:
    """Return the result of the system call: 0, or -1 where there is no such call."""
    if not LINUX:
        return _I64(-1)
    function = _libc(builder, "syscall", _I64, [_I64] * 7)
    return builder.call(function, [_I64(number) for number in (MEMBARRIER, command, 0, 0, 0, 0, 0)])


@intrinsic
def _accept_fences(typing: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        done = _membarrier(builder, _REGISTER_GLOBAL_EXPEDITED)
        return builder.zext(builder.icmp_signed("==", done, _I64(0)), _I64)

    return types.int64(), code


@intrinsic
def _fence_all(typing: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _membarrier(builder, _GLOBAL_EXPEDITED)
        return context.get_dummy_value()

    return types.void(), code


overloads(atomics.accept_fences, lambda: lambda: _accept_fences())
overloads(atomics.fence_all, lambda: lambda: _fence_all())
