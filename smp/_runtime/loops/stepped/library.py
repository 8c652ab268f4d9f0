"""A library of Numba whose code is instrumented for emulated machines (see ``text``); imported with Numba only."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, dispatcher
from numba.core.codegen import JITCodeLibrary

from .text import instrument, landing

_WRAPPER, _LOOP = "_ZN7cpython", "_ZN"
_RAISED = "-1"  # Numba's status of a function that has set an exception of Python


_Compiler: Any = dispatcher._FunctionCompiler  # type: ignore[attr-defined]


class _Library(JITCodeLibrary):  # type: ignore[misc]
    _final_module: Any

    def _optimize_final_module(self) -> None:
        wrapper = next(f.name for f in self._final_module.functions if f.name.startswith(_WRAPPER))
        loop = _LOOP + wrapper.removeprefix(_WRAPPER)
        self._replace(apart(str(self._final_module), loop))
        super()._optimize_final_module()
        self._replace(with_landing(instrument(str(self._final_module)), wrapper, loop))

    def _replace(self, text: str) -> None:
        name = self._final_module.name
        self._final_module = llvm.parse_assembly(text)
        self._final_module.name = name


def apart(text: str, loop: str) -> str:
    """Keep the loop from being inlined; llvmlite's own call for this marks the result in version 0.45."""
    define = rf'^(define [^\n]*@"?{re.escape(loop)}"?\([^\n]*?)((?: !dbg !\d+)? {{)$'
    marked, count = re.subn(define, r"\1 noinline\2", text, flags=re.MULTILINE)
    assert count == 1, f"{loop} is not defined once in its module"
    return marked


def with_landing(text: str, wrapper: str, loop: str) -> str:
    """Let the wrapper, which Python calls, call the loop through a landing."""
    defined = re.search(rf'^define [^@]*@"?{re.escape(loop)}"?\((.*?)\) [^()]*{{$', text, re.MULTILINE)
    assert defined, f"{loop} is not defined in its module"
    types = [_type(one) for one in _parts(defined[1])]
    start = re.search(rf'^define [^@]*@"?{re.escape(wrapper)}"?\(', text, re.MULTILINE)
    assert start, f"{wrapper} is not defined in its module"
    end = text.index("\n}", start.start())
    body = re.sub(rf'@"?{re.escape(loop)}"?\(', f'@"{loop}.landing"(', text[start.start() : end])
    return text[: start.start()] + body + text[end:] + landing(loop, types, "i32", _RAISED)


def _parts(parameters: str) -> list[str]:
    """Split parameters at the commas that are not inside brackets."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(parameters):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            found.append(parameters[start:place].strip())
            start = place + 1
    return [*found, parameters[start:].strip()]


def _type(parameter: str) -> str:
    """Return the type with which a parameter begins."""
    depth = 0
    for place, letter in enumerate(parameter):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == " " and depth == 0:
            return parameter[:place]
    return parameter


class SteppedCompiler(_Compiler):  # type: ignore[misc]
    """Numba's compiler of a function, with a library that is instrumented."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        target = self.targetdescr.target_context
        library = _Library(target.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            target,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )
