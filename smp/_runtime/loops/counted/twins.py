"""Loops that count: the same loop, compiled once more so that it also returns how many operations it has done.

    counted(loop)(*args)   ─▶   result, (load, store, int, mul, div, flop, fdiv, branch, call)

The loop goes through Numba with two further passes (`callees`, `blocks`).  The count depends on the loop, on the types
and the values of its arguments, and on nothing of this computer: it is made from Numba's typed statements, before LLVM
sees them.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from numba import njit
from numba.core import compiler
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import LiteralPropagationSubPipelinePass

from .. import keys, machine_code
from ..compiler import numba
from .blocks import CountBlocks
from .callees import CountCallees, function_of

_making = threading.RLock()
_inner: weakref.WeakKeyDictionary[FunctionType, Any] = weakref.WeakKeyDictionary()
_outer: weakref.WeakKeyDictionary[FunctionType, Any] = weakref.WeakKeyDictionary()
_MODULES = ("addresses", "arrays", "blocks", "callees", "elements", "operations", "scalars", "statements", "twins")


class _Counting(compiler.CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        builder = compiler.DefaultPassBuilder
        manager = PassManager("smp_counted")
        for part in (builder.define_untyped_pipeline(self.state), builder.define_typed_pipeline(self.state)):
            manager.passes.extend(part.passes)
        manager.passes.extend(builder.define_nopython_lowering_pipeline(self.state).passes)
        manager.add_pass_after(CountCallees, LiteralPropagationSubPipelinePass)
        manager.add_pass_after(CountBlocks, NopythonRewrites)
        manager.finalize()
        return [manager]


def counted(function: FunctionType) -> Callable[..., tuple[Any, tuple[int, ...]]]:
    """Return a loop that counts: it returns the result of ``function`` and the number of operations of each kind.

    Parameters
    ----------
    function : callable
        The function as its author wrote it, or the loop that was made of it.

    Raises
    ------
    Uncounted
        When it is called with types of arguments for which an operation of the loop has no price.
    """
    numba()
    plain = function_of(function)
    assert plain is not None
    with _making:
        if plain not in _outer:
            copy = machine_code.copy_of(plain)
            made = njit(nogil=True, pipeline_class=_Counting)(copy)
            _outer[plain] = machine_code.kept(made, plain, copy, f"counted_{_digest(plain)}")
        return cast("Callable[..., tuple[Any, tuple[int, ...]]]", _outer[plain])


def _twin_of(function: FunctionType) -> Any:
    """Return the loop that counts in place of a function which another one calls."""
    if function not in _inner:
        copy = machine_code.copy_of(function)
        copy.__qualname__ = f"smp_{_digest(function)}_counted.{function.__qualname__}"
        setattr(copy, keys.INLINE, keys.INLINE in vars(function) or keys.MERGED in vars(function))
        _inner[function] = njit(nogil=True, pipeline_class=_Counting)(copy)
    return _inner[function]


def helper(function: Any) -> Any:
    """Return a function of `elements` as one that loops can call."""
    if function not in _inner:
        copy = machine_code.copy_of(function)
        copy.__qualname__ = f"smp_{_digest(function)}_elements.{function.__qualname__}"
        _inner[function] = njit(nogil=True)(copy)
    return _inner[function]


def _digest(function: Any) -> str:
    """Return a text that differs if the function, one that it calls, or the rules of counting differ."""
    texts = b"".join(keys.text_of(f"{__package__}.{name}") for name in _MODULES)
    return hashlib.blake2b(texts + keys.key_without_numba([function]).encode(), digest_size=8).hexdigest()


CountCallees.twin_of = staticmethod(_twin_of)
CountBlocks.helper = staticmethod(helper)
