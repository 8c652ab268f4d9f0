"""Compilation of functions into machine code by Numba. The callers have registered the primitives before.

Lock files serialise the compilation of a function between processes, so a process finds what another has compiled.  A
holder of one lock takes no other.  The text of this module is in the key of all machine code (see `keys`), because the
options of the compiler are set here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
import zlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TextIO

from smp._computer.interrupt import HeldBack
from smp._output.log import reported

from . import python_calls
from .code_folder import LOCK, LOCKS, cache_folder
from .kept_code import label_of
from .python_calls import Form
from .stepped.text import instrument, landing

SILENT = 1.0
"""Seconds that a compilation may take without a line in the log."""
_locks: weakref.WeakSet[TextIO] = weakref.WeakSet()


@contextlib.contextmanager
def compile_lock(label: str) -> Iterator[None]:
    """Hold the lock under which the machine code of ``label`` is made; the kernel releases it if the holder dies.

    Some labels share a lock, so that there are few files.
    """
    with open(cache_folder() / f"{LOCK}{zlib.crc32(label.encode()) % LOCKS}", "w") as file:
        _locks.add(file)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _let_go() -> None:
    for file in list(_locks):
        file.close()


os.register_at_fork(after_in_child=_let_go)  # otherwise a child would hold the lock as long as it lives


def first_use(what: str) -> str:
    """Return a line for the log: something is compiled."""
    return f"compiling {what} for the first time; its machine code is kept in {cache_folder()}"


@contextlib.contextmanager
def _compiling(function: Callable[..., Any]) -> Iterator[None]:
    """Hold the lock of a function's machine code, hold Ctrl-C back, and report if it takes long.

    A Ctrl-C during LLVM's call back into Python would be lost.
    """
    with compile_lock(label_of(function)), HeldBack(), reported(first_use(function.__qualname__), SILENT):
        yield


def dispatcher(function: Callable[..., Any], stepped: bool = False) -> Any:
    """Return Numba's dispatcher of a function; it compiles under the lock and keeps what it compiles.

    If ``stepped``, the code makes steps of an emulated machine, and holds the interpreter's lock (see ``stepped``).
    """
    from numba import njit

    from .with_numba.callees import LoopCompiler

    copy = copy_of(function)
    made = njit(nogil=not stepped, pipeline_class=LoopCompiler)(copy)
    if stepped:
        from .stepped.library import SteppedCompiler

        old = made._compiler
        made._compiler = SteppedCompiler(copy, old.targetdescr, old.targetoptions, old.locals, old.pipeline_class)
    return kept(made, function, copy, "stepped" if stepped else "loop")


def kept(made: Any, function: Callable[..., Any], copy: FunctionType, form: str) -> Any:
    """Let Numba's dispatcher of a copy of a function compile under the lock, and keep what it compiles.

    The ``form`` of the machine code, a name, is a part of the key.
    """
    from .with_numba.cache import Kept

    compile_one, made._cache = made.compile, Kept(function, copy, form)

    def compile_locked(signature: Any) -> Any:
        with _compiling(function):
            return compile_one(signature)

    made.compile = compile_locked
    return made


def c_entry(function: Callable[..., int], arguments: int) -> Any:
    """Compile ``function``, whose arguments and result are int64, for calls from C; return it with its ``address``.

    The machine code is kept on disk like that of loops.
    """
    from numba import types
    from numba.core.ccallback import CFunc

    from .with_numba.cache import Kept

    copy = copy_of(function)
    made: Any = CFunc(copy, ((types.int64,) * arguments, types.int64), locals={}, options={})
    made._cache = Kept(function, copy, "C")
    with _compiling(function):
        made.compile()
    return made


def copy_of(function: Any) -> FunctionType:
    """Return a copy of a function, which can be renamed."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__module__, copy.__doc__ = function.__kwdefaults__, function.__module__, function.__doc__
    return copy


def object_code(function: Callable[..., Any], arguments: int, of_python: bool = False, form: Form = Form.FREE) -> bytes:
    """Compile ``function``, from ``arguments`` int64 to an int64, into an object file that exports it by its name.

    It also exports what Python needs to call the function (see ``python_calls``), unless it is ``of_python``: a
    function of Python's C interface.  The object file refers to nothing outside itself except libc and Python.  It uses
    no exceptions and none of Numba's helpers.  The ``form`` says if it holds the
    interpreter's lock, and if it makes steps.
    """
    import llvmlite.binding as llvm
    from numba.core import compiler, registry, types

    from .with_numba.callees import CalleeCompiler

    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = True
    flags.error_model = "numpy"  # a division never raises
    target = registry.cpu_target
    compiled = compiler.compile_extra(
        target.typing_context,
        target.target_context,
        function,
        (types.int64,) * arguments,
        types.int64,
        flags,
        {},
        pipeline_class=CalleeCompiler,
    )
    names = [f"i64 %a{k}" for k in range(arguments)]
    inner = compiled.fndesc.llvm_func_name
    wrapper = f"""
define i64 @"{function.__name__}"({", ".join(names)}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @"{inner}"(ptr %result, ptr %error{"".join(", " + name for name in names)})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""
    call = "" if of_python else python_calls.text(function.__name__, arguments, form)
    module = llvm.parse_assembly(compiled.library.get_llvm_str() + wrapper + call)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), opt=3, reloc="static", codemodel="large"
    )
    exported = {function.__name__, python_calls.name_of(function.__name__)}
    for defined in [*module.functions, *module.global_variables]:
        if not defined.is_declaration and defined.name not in exported:
            defined.linkage = "internal"
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    for _ in range(2):  # inlines functions and drops those that nothing calls; once more those that have become small
        passes.getModulePassManager().run(module, passes)
    if form is Form.STEPPED:
        lines = [line for line in str(module).split("\n") if not line.startswith(f"declare i64 @{function.__name__}.")]
        entry = landing(function.__name__, ["i64"] * arguments, "i64", "0")
        module = llvm.parse_assembly(instrument("\n".join(lines)) + entry)
    return bytes(machine.emit_object(module))
