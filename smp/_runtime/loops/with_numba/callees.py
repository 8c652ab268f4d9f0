"""Passes of Numba for functions that only other compiled code calls: each stays text until a loop is made of it.

    Numba     function ─▶ optimised ─▶ machine code   ┐
                                                      ├─▶ loop with its functions ─▶ optimised ─▶ machine code
    here      function ───────────────────────────────┘

Each loop is optimised together with all that it calls, so nothing is lost.  Loops that call many functions take a third
less time to compile.

Numba keeps a version of a function for each set of flags of its callers.  Here a function has one version, whatever
calls it, and is not inlined only because its caller is.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

_INHERITED = ("nrt", "fastmath", "error_model")
"""Flags of a loop that hold for the functions which it calls."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of what it calls, as LLVM's text that nothing has optimised."""

    _final_module: Any

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):  # type: ignore[misc]
    """Numba's inference of types, during which the functions that are called are compiled."""

    _name = "inference of types for loops"

    def run_pass(self, state: Any) -> bool:
        flags = Flags()
        for name in _INHERITED:
            setattr(flags, name, getattr(state.flags, name))
        with ConfigStack().enter(flags):
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's last pass, without the machine code."""

    _name = "lowering of what loops call"

    def run_pass(self, state: Any) -> bool:
        flags, names = state.flags, ("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper")
        before = [getattr(flags, name) for name in names]
        for name in names:
            setattr(flags, name, True)
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        for name, value in zip(names, before, strict=True):
            setattr(flags, name, value)
        made = state["cr"]
        if str(state.library._final_module).count(made.fndesc.env_name) > 1:  # it is not only declared, but used
            state.library = None  # Numba sets the function's objects of Python where its own machine code is
            return bool(super().run_pass(state))
        state.library.finalize()
        nothing = list[None]().append  # Numba's key of the function, which must be a function of C; nothing calls it
        state.targetctx.insert_user_function(nothing, made.fndesc, [state.library])
        state["cr"] = made._replace(cfunc=nothing)
        return True


class LoopCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for what Python calls."""

    _instead: ClassVar[dict[type, type]] = {NopythonTypeInference: _Inference}

    def define_pipelines(self) -> list[Any]:
        (manager,) = super().define_pipelines()
        manager.passes = [(self._instead.get(each, each), text) for each, text in manager.passes]
        manager._finalized = False
        manager.finalize()
        return [manager]


class CalleeCompiler(LoopCompiler):
    """Numba's compiler, for what compiled code calls."""

    _instead: ClassVar[dict[type, type]] = {**LoopCompiler._instead, NativeLowering: _Lowering}
