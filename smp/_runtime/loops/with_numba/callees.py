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

from . import kept_callees

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

    def take(self, module: Any) -> None:
        """Consist of the text in a module."""
        self._final_module = module
        self._finalized = True


class _FlagsOfCallee(Flags):  # type: ignore[misc]
    """Flags of a function that is compiled because another function calls it, not because a loop does."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):  # type: ignore[misc]
    """Numba's inference of types, during which the functions that are called are compiled."""

    _name = "inference of types for loops"

    def run_pass(self, state: Any) -> bool:
        flags = _FlagsOfCallee() if isinstance(state.pipeline, CalleeCompiler) else Flags()
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
        state["cr"] = made._replace(cfunc=kept_callees.let_call(state.targetctx, made.fndesc, state.library))
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
    _name = ""

    def compile_extra(self, func: Any) -> Any:
        """Return what is kept of a function that a loop calls directly, or compile it, and keep it."""
        self._name = kept_callees.key_name(func, self.state)
        calling = ConfigStack.top_or_none()
        if not self._name or calling is None or isinstance(calling, _FlagsOfCallee):
            return super().compile_extra(func)
        path = kept_callees.path_of(func, self._name, self.state)
        found = kept_callees.load(path, self.state, _Library(self.state.targetctx.codegen(), self._name))
        if found is None:
            found = super().compile_extra(func)
            if isinstance(found.library, _Library):
                kept_callees.save(path, found)
        return found

    def _compile_bytecode(self) -> Any:
        if self._name:
            compiled = self.state.func_id
            compiled.func_qualname, compiled.unique_id = f"{self._name}.{compiled.func_qualname}", 0
        return super()._compile_bytecode()
