"""The one door to Numba: compiled loops, made on first use and kept on disk.

Importing smp does not import Numba.  A loop decorated here is an ordinary Python function until it is
called; the first call loads Numba, registers every primitive with it, and compiles:

    @local    a loop over local data         @stream    a loop that touches atomics or cells
    @inline   a small function for loops     @merged    one whose call would cost more than it does

On the host ``local`` and ``stream`` are compiled alike; they are two names because an emulated machine
charges the first by a formula and interprets the second.

Machine code is kept under a key of all that it is made of (`fingerprint`), in files of its own (`kept_code`); how it
is made is in `machine_code`.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
import uuid
import weakref
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from ..source.lines import wraps_users
from . import keys, machine_code
from .code_folder import cache_folder
from .interpreter import here

P = ParamSpec("P")
R = TypeVar("R")

_NAME, _STREAM = keys.LOOP, "__smp_stream__"
INSTEAD = "__smp_instead__"
"""Of a class whose objects no loop can work on: what to give the loop."""
_numba: ModuleType | None = None
_ready = False
_revived: dict[str, Callable[..., Any]] = {}
_making = threading.RLock()
_dispatchers: weakref.WeakKeyDictionary[Callable[..., Any], Any] = weakref.WeakKeyDictionary()
_registrations: list[Callable[[ModuleType], None]] = []


def _after_fork() -> None:
    global _making
    _making = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


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
    keys.look_ahead()


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
    setattr(function, keys.MERGED, True)
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
    keys.replace(function, implementation)


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
    """The Numba dispatcher of a function."""
    numba()
    with _making:  # several streams may call a loop for the first time at once
        if function not in _dispatchers:
            _dispatchers[function] = machine_code.dispatcher(function)
        return cast("Callable[..., R]", _dispatchers[function])


@functools.cache
def c_function(function: Callable[..., int], arguments: int) -> Any:
    """Return ``function`` of int64 to int64 as C calls it, at its ``address``; kept on disk as loops are."""
    numba()
    return machine_code.c_entry(function, arguments)


def object_code(function: Callable[..., int], arguments: int) -> bytes:
    """Return ``function`` of int64 to int64 as an object file, see `machine_code.object_code`."""
    numba()
    return machine_code.object_code(function, arguments)
