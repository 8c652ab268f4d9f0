"""The one door to Numba: compiled loops, made on first use and kept on disk.

Importing smp does not import Numba.  A loop decorated here is an ordinary Python function until it is
called; the first call loads Numba, registers every primitive with it, and compiles:

    @local    a loop over local data             @stream   a loop that touches atomics or cells
    @inline   a small function for use in loops  @merged    one whose call would cost more than it does

On the host ``local`` and ``stream`` are compiled alike; they are two names because an emulated machine
charges the first by a formula and interprets the second.

Machine code is kept in a folder named by a hash of smp's sources (`code_folder`), because Numba's own check does not
see a change in a callee that lives in another file; for the same reason a user's loop is kept with a fingerprint
of all that it calls.  One lock file serialises compilation between processes:
different signatures of one function that are compiled at once could otherwise spoil each other's cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib
import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TextIO, TypeVar, cast

from smp._computer.interrupt import HeldBack

from ..source.lines import wraps_users
from .code_folder import cache_folder
from .fingerprint import fingerprint
from .interpreter import here

P = ParamSpec("P")
R = TypeVar("R")

_NAME, _STREAM = "__smp_loop__", "__smp_stream__"
INSTEAD = "__smp_instead__"
"""Of a class whose objects no loop can work on: what to give the loop."""
_numba: ModuleType | None = None
_ready = False
_revived: dict[str, Callable[..., Any]] = {}
_making = threading.RLock()
_locks: weakref.WeakSet[TextIO] = weakref.WeakSet()
_dispatchers: weakref.WeakKeyDictionary[Callable[..., Any], Any] = weakref.WeakKeyDictionary()
_registrations: list[Callable[[ModuleType], None]] = []


@contextlib.contextmanager
def compile_lock() -> Iterator[None]:
    """Hold the one lock under which machine code is made; the kernel frees it if the holder dies."""
    with open(cache_folder() / "lock", "w") as file:
        _locks.add(file)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _let_go() -> None:
    global _making
    _making = threading.RLock()
    for file in list(_locks):
        file.close()


os.register_at_fork(after_in_child=_let_go)  # or a child would hold the lock for as long as it lives


def numba() -> ModuleType:
    """Return Numba, imported at the first call, with every primitive registered."""
    global _numba, _ready
    if not _ready:
        with _making:  # other threads wait; what is imported here asks again
            if _numba is None:
                import numba as module

                _numba = module
                for register in list(_registrations):  # what they import registers by itself
                    register(module)
                _ready = True
    assert _numba is not None
    return _numba


def set_up() -> None:
    """Set Numba's compiler up, which its first loop would do: before a fork, for all the copies at once."""
    numba()
    cache_folder()
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def _register(register: Callable[[ModuleType], None]) -> None:
    _registrations.append(register)
    if _numba is not None:
        register(_numba)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops call ``function``; Python calls it as it stands."""
    _register(lambda module: module.extending.register_jitable(function))
    return function


def merged(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops call ``function`` as `inline` does, its code made part of theirs at any size."""
    _register(lambda module: module.extending.register_jitable(forceinline=True)(function))
    return function


def imported_with_numba(module: str) -> None:
    """Have a module imported as soon as Numba is: it tells the compiler what names of the caller's module mean."""
    when_compiling(lambda: importlib.import_module(module))


def when_compiling(do: Callable[[], object]) -> None:
    """Call this once Numba is there."""

    def when_there(module: ModuleType) -> None:
        do()

    _register(when_there)


def overloads(function: Callable[..., Any], implementation: Callable[..., Any]) -> None:
    """Compile calls of ``function`` inside loops as calls of what ``implementation`` makes for its types.

    That is given the name of ``function``.  Numba names machine code after a function's name, a number that counts up
    in each process, and the types: two of one name, one from the disk and one made here, could be taken for each other.
    """

    @functools.wraps(implementation)
    def named(*args: Any, **kwargs: Any) -> Any:
        made = implementation(*args, **kwargs)
        if isinstance(made, FunctionType):
            made.__name__ = made.__qualname__ = f"{function.__module__}.{function.__qualname__}".replace(".", "_")
        return made

    _register(lambda module: module.extending.overload(function)(named))


def local(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over local data with Numba, without the GIL, cached on disk.

    Parameters
    ----------
    function : callable
        Plain Python in Numba's subset.  It may call other loops and the names of `smp.compiled`.

    Returns
    -------
    callable
        The same function, compiled for each new combination of argument types at its first call.

    Examples
    --------
    >>> import numpy as np, smp
    >>> @smp.local
    ... def total(a):
    ...     s = 0
    ...     for x in a:
    ...         s += x
    ...     return s
    >>> total(np.arange(10))
    45
    """
    dispatcher: Callable[..., R] | None = None

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal dispatcher
        if here.interpreter is not None:
            args, kwargs = cast("Any", here.interpreter.charge(call, args, kwargs))
        if dispatcher is None:
            dispatcher = _dispatcher(function)
        try:
            return dispatcher(*args, **kwargs)
        except Exception:  # the account of Numba does not say what to give instead
            _refuse_no_arrays(function, args, kwargs)
            raise

    return _named(function, wraps_users(call))


def _named(function: Callable[P, R], call: Callable[P, R]) -> Callable[P, R]:
    """Let other loops call the loop, and processors know it by a name."""
    _register(lambda module: module.extending.overload(call, strict=False)(lambda *_: function))
    setattr(call, _NAME, uuid.uuid4().hex)
    return call


def loop_name(thing: Any) -> str:
    """Return the name that stands for a compiled loop in all processes; nothing for anything else."""
    return str(vars(thing).get(_NAME, "")) if isinstance(thing, FunctionType) else ""


def is_stream(loop: Callable[..., Any]) -> bool:
    """Whether a compiled loop was made by `stream`."""
    return bool(vars(loop).get(_STREAM, False))


def revive(name: str, function: Callable[P, R], of_stream: bool = False) -> Callable[P, R]:
    """Return the loop of that name, made of ``function`` if this process does not have it yet."""
    if name not in _revived:
        _revived[name] = stream(function) if of_stream else local(function)
        setattr(_revived[name], _NAME, name)
    return _revived[name]


def stream(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that touches atomics or cells.

    On the host it is as `local`; an emulated machine interprets its source, primitive by primitive.
    """
    compiled = local(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if here.interpreter is None:
            return compiled(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except Exception:  # what a loop meets that indexes a global array does not say what to give instead
            _refuse_no_arrays(function, args, kwargs)
            raise

    setattr(call, _STREAM, True)
    return _named(function, wraps_users(call))


def _refuse_no_arrays(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Say what to give a loop that has failed in the place of what it cannot work on."""
    for value in (*args, *kwargs.values()):
        instead = getattr(type(value), INSTEAD, "")
        if instead:
            raise TypeError(
                f"the loop {function.__name__!r} cannot work on a {type(value).__name__}: {instead}"
            ) from None


def _dispatcher(function: Callable[..., R]) -> Callable[..., R]:
    """The Numba dispatcher of a function: its cache lies in our folder, and it compiles under the lock."""
    with _caching() as module:
        if function in _dispatchers:
            return cast("Callable[..., R]", _dispatchers[function])
        try:
            made = module.njit(nogil=True, cache=True)(function)
        except (RuntimeError, OSError):  # no file to key the cache by: a function typed at a prompt
            made = module.njit(nogil=True)(function)
        _set_up_compiler(function, made)
        _dispatchers[function] = made
    return cast("Callable[..., R]", made)


def _set_up_compiler(function: Callable[..., Any], made: Any) -> None:
    """Have a dispatcher compile under the lock, and keep the code with a fingerprint of all that it calls."""
    compile_one, folder = made.compile, cache_folder()
    file = getattr(made._cache, "_cache_file", None)  # what Numba holds of the loop on disk
    stamp = getattr(file, "_source_stamp", None)

    def compile_locked(signature: Any) -> Any:
        with _compiling():
            if cache_folder() != folder:  # that has ended with the process that made it, and Numba would make it again
                made._cache.disable()
            if file is not None:
                file._source_stamp = (stamp, fingerprint(function))
            return _twice(lambda: compile_one(signature))

    made.compile = compile_locked


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Hold the lock of the compiler, and Ctrl-C back: in LLVM's call back into Python it would be lost."""
    with compile_lock(), HeldBack():
        yield


def _twice(make: Callable[[], R]) -> R:
    """Make machine code; where what is on disk is damaged, throw it away and make it once more."""
    try:
        return make()
    except Exception as error:  # what a damaged file raises when it is unpickled can be anything
        if type(error).__module__.startswith("numba"):
            raise
        _forget_cache()
        return make()


@contextlib.contextmanager
def _caching() -> Iterator[ModuleType]:
    """Have Numba keep in our folder what is decorated meanwhile: its folder is one setting for all loops."""
    module = numba()
    with _making:  # several streams may call a loop for the first time at once
        before, module.config.CACHE_DIR = module.config.CACHE_DIR, str(cache_folder())
        try:
            yield module
        finally:
            module.config.CACHE_DIR = before


@functools.cache
def c_function(function: Callable[..., int], arguments: int) -> Any:
    """Return ``function`` of int64 to int64 as C calls it, at its ``address``; kept on disk as loops are."""
    with _caching() as module, _compiling():
        make = module.cfunc(f"int64({', '.join(['int64'] * arguments)})", cache=True)
        return _twice(lambda: make(function))


def _forget_cache() -> None:
    """Throw Numba's cached code away: a file in it is damaged, and which one Numba does not say."""
    for entry in cache_folder().iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)


def object_code(function: Callable[..., Any], arguments: int) -> bytes:
    """Compile ``function`` of ``arguments`` int64 to int64 into an object file that exports its name.

    The object refers to nothing but libc: no reference counts, no exceptions, none of Numba's helpers.
    """
    numba()
    import llvmlite.binding as llvm
    from numba.core import compiler, registry, types

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
    module = llvm.parse_assembly(compiled.library.get_llvm_str() + wrapper)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), opt=3, reloc="static", codemodel="large"
    )
    for defined in [*module.functions, *module.global_variables]:
        if not defined.is_declaration and defined.name != function.__name__:
            defined.linkage = "internal"
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)  # inlines, then drops what nobody calls
    return bytes(machine.emit_object(module))
