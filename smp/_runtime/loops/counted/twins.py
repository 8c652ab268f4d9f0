"""Loops that count: the same loop, compiled once more so that it also returns how many operations it has done.

    twins.of(loop)(*args)   ─▶   result, (load, store, int, mul, div, flop, fdiv, branch, call, declared cycles)

The loop goes through Numba with two further passes (`callees`, `blocks`).  The count depends on the loop, on the types
and the values of its arguments, and on nothing of this computer: it is made from Numba's typed statements, before LLVM
sees them.  A loop that it calls is compiled in the same way, unless its price is declared: then it runs as it is, and
its price is added.
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
from ..declarations import Price
from ..stepped.loops import reached
from .blocks import CountBlocks
from .callees import CountCallees, function_of
from .operations import KINDS

_MODULES = ("addresses", "arrays", "blocks", "callees", "elements", "operations", "scalars", "statements", "twins")
PriceOf = Callable[[Any], Price | None]
"""Function that returns the declared price of a loop; None if the loop has to be counted."""
Counting = Callable[..., tuple[Any, tuple[float, ...]]]
"""A loop that counts: it returns its result and the totals."""


class Twins:
    """Loops that count.

    Parameters
    ----------
    price_of : callable
        Function that returns the declared price of a loop that another loop calls, or None.
    """

    def __init__(self, price_of: PriceOf) -> None:
        numba()
        self._price_of = price_of
        self._making = threading.RLock()
        self._outer: weakref.WeakKeyDictionary[FunctionType, Any] = weakref.WeakKeyDictionary()
        self._inner: weakref.WeakKeyDictionary[FunctionType, Any] = weakref.WeakKeyDictionary()
        self._pipeline = type(
            "Counting", (_Counting,), {"twin_of": staticmethod(self._twin_of), "helper": staticmethod(self._helper)}
        )

    def of(self, loop: Callable[..., Any]) -> Counting:
        """Return a loop that counts, made from a loop; it raises `Unsupported` if it cannot be counted."""
        function = function_of(loop)
        if function is None:
            raise TypeError(f"{loop!r} is no loop, so its operations cannot be counted")
        with self._making:
            if function not in self._outer:
                copy = machine_code.copy_of(function)
                made = njit(nogil=True, pipeline_class=self._pipeline)(copy)
                self._outer[function] = machine_code.kept(made, function, copy, f"counted_{self._digest(function)}")
            return cast("Counting", self._outer[function])

    def _twin_of(self, loop: Any) -> Any:
        """Return what a loop that counts calls in place of another loop."""
        function = function_of(loop)
        assert function is not None
        if function not in self._inner:
            price = self._price_of(loop)
            copy = machine_code.copy_of(function) if price is None else _priced(loop, function, price)
            copy.__qualname__ = f"smp_{self._digest(function, price)}_counted.{function.__qualname__}"
            setattr(copy, keys.INLINE, keys.INLINE in vars(function) or keys.MERGED in vars(function))
            options = {"pipeline_class": self._pipeline} if price is None else {}
            self._inner[function] = njit(nogil=True, **options)(copy)
        return self._inner[function]

    def _helper(self, function: Any) -> Any:
        """Return a function of `elements` as one that loops can call."""
        if function not in self._inner:
            copy = machine_code.copy_of(function)
            copy.__qualname__ = f"smp_{self._digest(function)}_elements.{function.__qualname__}"
            self._inner[function] = njit(nogil=True)(copy)
        return self._inner[function]

    def _digest(self, function: Any, price: Price | None = None) -> str:
        """Return a text that differs if the function, one that it calls, a price, or the rules of counting differ."""
        prices = [price, *(self._price_of(loop) for loop in reached(function, set()))]
        texts = [one.key for one in prices if one is not None]
        rules = b"".join(keys.text_of(f"{__package__}.{name}") for name in _MODULES)
        whole = rules + repr((keys.key_without_numba([function]), texts)).encode()
        return hashlib.blake2b(whole, digest_size=8).hexdigest()


class _Counting(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's compiler with the two passes that let a loop count."""

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


def _priced(loop: Callable[..., Any], function: FunctionType, price: Price) -> FunctionType:
    """Return a function that runs a loop as it is, and returns the result with the loop's declared price."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = ", ".join(names)
    space: dict[str, Any] = {"smp_loop": loop, "__name__": function.__module__}
    summed = repr(float(price.constant))
    for k, (factor, formula) in enumerate(price.parts):
        space[f"smp_part_{k}"] = njit(formula)
        summed += f" + {float(factor)!r} * smp_part_{k}({given})"
    zeros = "0, " * len(KINDS)
    exec(f"def priced({given}):\n    return smp_loop({given}), ({zeros}{summed})", space)
    made: FunctionType = space["priced"]
    made.__defaults__ = function.__defaults__
    return made
