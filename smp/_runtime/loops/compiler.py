"""Compilation of loops by Numba, on first use; the machine code is kept on disk.

Importing smp does not import Numba.  A loop decorated here is an ordinary Python function until it is
called.  The first call imports Numba, registers every primitive with it, and compiles the loop:

    @local    a loop over local data         @stream    a loop that touches atomics or cells
    @inline   a small function for loops     @merged    a function whose call would cost more than its body

On the host ``local`` and ``stream`` compile alike.  They have two names because an emulated machine charges
a local loop by a formula, and interprets a stream loop.

Machine code is kept in smp's own files (`kept_code`), under a key of all that it is made of (`keys`).  The compilation
itself is in `machine_code`.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast, overload

from ..source.lines import wraps_users
from . import keys, machine_code
from .code_folder import cache_folder
from .declarations import DECLARED, Declaration, Given, declaration
from .interpreter import INTERPRETED, here
from .python_calls import Form

P = ParamSpec("P")
R = TypeVar("R")

_NAME, _STREAM = keys.LOOP, "__smp_stream__"
INSTEAD = "__smp_instead__"
"""Attribute of a class whose objects no loop can work on; it says what to give the loop instead."""
_numba: ModuleType | None = None
_ready = _wanted = False
_revived: dict[str, Callable[..., Any]] = {}
_making = threading.RLock()
_dispatchers: weakref.WeakKeyDictionary[Callable[..., Any], Any] = weakref.WeakKeyDictionary()
_registrations: list[Callable[[ModuleType], None]] = []


def _after_fork() -> None:
    global _making
    _making = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def numba() -> ModuleType:
    """Return Numba with every primitive registered; the first call imports it."""
    global _numba, _ready
    if not _ready:
        with _making:  # other threads wait; modules imported here call this again, in this thread
            if _numba is None:
                import numba as module

                _numba = module
                for register in list(_registrations):  # a copy: modules that they import register their own at once
                    register(module)
                _ready = True
    assert _numba is not None
    return _numba


def wanted() -> bool:
    """Return True if processors will probably call loops: Numba is imported, or loops are declared.

    The runtime's own loops do not count.
    """
    return _wanted or "numba" in sys.modules


def set_up() -> None:
    """Set up Numba's compiler before a fork, once for all copies of this process.

    Otherwise each copy would do so at its first call of a loop.
    """
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


def _let_loops_call(
    function: Callable[..., Any], implementation: Callable[..., Any], always_inlined: bool = False, strict: bool = False
) -> None:
    """Let compiled loops call ``function``, for which they compile what ``implementation`` returns.

    If ``strict``, both have the same parameters.
    """

    def register(module: ModuleType) -> None:
        from .with_numba.callees import CalleeCompiler

        options = {"pipeline_class": CalleeCompiler, **({"forceinline": True} if always_inlined else {})}
        module.extending.overload(function, jit_options=options, strict=strict)(implementation)

    _register(register)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops call ``function``, which stays an ordinary function of Python."""
    setattr(function, keys.INLINE, True)
    _let_loops_call(function, lambda *_, **__: function)
    return function


def merged(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops call ``function`` as with `inline`, but always inline its code, whatever its size."""
    setattr(function, keys.MERGED, True)
    _let_loops_call(function, lambda *_, **__: function, always_inlined=True)
    return function


def imported_with_numba(module: str) -> None:
    """Import a module as soon as Numba is imported.

    The module defines how Numba compiles the functions of the caller's module.
    """
    when_compiling(lambda: importlib.import_module(module))


def when_compiling(do: Callable[[], object]) -> None:
    """Call ``do`` as soon as Numba is imported; at once if it is imported already."""

    def when_there(module: ModuleType) -> None:
        do()

    _register(when_there)


def overloads(function: Callable[..., Any], implementation: Callable[..., Any], always_inlined: bool = False) -> None:
    """Compile each call of ``function`` in a loop as a call of what ``implementation`` returns for the argument types.

    If ``always_inlined``, the call is replaced by the code of the returned function, as with `merged`.

    The returned function is renamed after ``function``. Numba names machine code after a function's name, a number
    that counts up in each process, and the types. Two functions with the same name, one loaded from disk and one
    compiled here, could otherwise be mistaken for each other.
    """

    @functools.wraps(implementation)
    def named(*args: Any, **kwargs: Any) -> Any:
        made = implementation(*args, **kwargs)
        if isinstance(made, FunctionType):
            made.__name__ = made.__qualname__ = f"{function.__module__}.{function.__qualname__}".replace(".", "_")
        return made

    _let_loops_call(function, named, always_inlined, strict=True)
    keys.replace(function, implementation)


@overload
def local(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def local(
    *,
    cost: Given | None = None,
    name: str = "",
    terms: Mapping[str, Given] | None = None,
    oblivious: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def local(
    function: Callable[P, R] | None = None,
    *,
    cost: Given | None = None,
    name: str = "",
    terms: Mapping[str, Given] | None = None,
    oblivious: bool = False,
) -> Any:
    """Compile a loop over local data with Numba; it runs without the GIL, and its code is kept on disk.

    Parameters
    ----------
    function : callable
        Function in the subset of Python that Numba compiles.  It may call other loops and the functions of
        `smp.compiled`.
    cost : str or callable, optional
        Cycles that a call takes on an emulated machine: a formula in the arguments, as text or as a function.  Text may
        use numbers, arguments, ``len(a)``, ``a.size``, ``a.nbytes``, ``a.shape[0]``, and the prices of the machine's
        operations: load, store, int, mul, div, flop, fdiv, branch, call.  Without it, the operations are counted.
    name : str, optional
        Name of the loop in machine files.  If the table ``[loops]`` of the machine has the name, that price is taken.
    terms : mapping of str to (str or callable), optional
        Formulas for what machine files multiply: the term "point" with ``per_point``.
    oblivious : bool
        The promise that the number of operations depends only on the shapes and types of the arrays and on the other
        arguments, not on the contents of arrays.

    Returns
    -------
    callable
        The same function, compiled for each new combination of argument types at its first call.  If only options are
        given, a decorator.

    Raises
    ------
    TypeError, ValueError
        If a formula, the name or a term is not valid.

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
    >>> @smp.local(cost="3 * len(a) + 10")
    ... def twice(a):
    ...     a *= 2
    """
    if function is None:
        return lambda given: _local(given, declaration(given, cost, name, terms, oblivious))
    return _local(function, None)


def _local(function: Callable[P, R], declares: Declaration | None) -> Callable[P, R]:
    dispatcher: Callable[..., R] | None = None

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal dispatcher
        try:
            if here.interpreter is not None:
                return cast("R", here.interpreter.run_local(call, args, kwargs))
            if dispatcher is None:
                dispatcher = machine_code_of(function)
            return dispatcher(*args, **kwargs)
        except Exception:  # Numba's message does not say what to give the loop instead
            _refuse_no_arrays(function, args, kwargs)
            raise

    if declares is not None:
        setattr(call, DECLARED, declares)
    return _named(function, wraps_users(call))


@wraps_users
def run(loop: Callable[..., R], args: tuple[Any, ...], options: Mapping[str, Any]) -> R:
    """Run the machine code of a loop, without a charge for it."""
    return compiled(loop)(*args, **options)


def compiled(loop: Callable[..., R]) -> Callable[..., R]:
    """Return the machine code of a loop, which is compiled when it is called with new types of arguments."""
    return machine_code_of(cast("Callable[..., R]", vars(loop)["__wrapped__"]))


def _named(function: Callable[P, R], call: Callable[P, R]) -> Callable[P, R]:
    """Let other loops call the loop, and give it a name by which processors know it."""
    global _wanted
    _wanted = _wanted or not str(function.__module__).startswith("smp._runtime.")
    _let_loops_call(call, lambda *_, **__: function)
    setattr(call, _NAME, uuid.uuid4().hex)
    return call


def loop_name(thing: Any) -> str:
    """Return the name of a compiled loop, the same in all processes; empty for anything else."""
    return str(vars(thing).get(_NAME, "")) if isinstance(thing, FunctionType) else ""


def is_stream(loop: Callable[..., Any]) -> bool:
    """Return True if a compiled loop was made by `stream`."""
    return bool(vars(loop).get(_STREAM, False))


def revive(
    name: str, function: Callable[P, R], of_stream: bool = False, declares: tuple[Any, ...] = ()
) -> Callable[P, R]:
    """Return the loop of the given name; make it from ``function`` if this process does not have it yet.

    The loop is of a stream, or it declares what was given to `declaration`.
    """
    if name not in _revived:
        _revived[name] = stream(function) if of_stream else _local(function, declaration(function, *declares))
        setattr(_revived[name], _NAME, name)
    return _revived[name]


def stream(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that touches atomics or cells.

    On the host it behaves as with `local`. An emulated machine interprets its source, primitive by primitive, or runs
    machine code that makes the same steps.
    """
    on_the_host = local(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        interpreter = here.interpreter
        if interpreter is None:
            return on_the_host(*args, **kwargs)
        machine_code = interpreter.machine_code(function)
        if machine_code is not None:
            result = machine_code(*args, **kwargs)
            if result is not INTERPRETED:
                return cast("R", result)
        try:
            return function(*args, **kwargs)
        except Exception:  # the error of a loop that indexes a global array does not say what to give it instead
            _refuse_no_arrays(function, args, kwargs)
            raise

    setattr(call, _STREAM, True)
    return _named(function, wraps_users(call))


def _refuse_no_arrays(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a TypeError if an argument is something that no loop can work on; it says what to give instead."""
    for value in (*args, *kwargs.values()):
        instead = getattr(type(value), INSTEAD, "")
        if instead:
            raise TypeError(
                f"the loop {function.__name__!r} cannot work on a {type(value).__name__}: {instead}"
            ) from None


def machine_code_of(function: Callable[..., R]) -> Callable[..., R]:
    """Return the Numba dispatcher of a function."""
    numba()
    with _making:  # several streams may make the first call of a loop at the same time
        if function not in _dispatchers:
            _dispatchers[function] = machine_code.dispatcher(function)
        return cast("Callable[..., R]", _dispatchers[function])


@functools.cache
def c_function(function: Callable[..., int], arguments: int) -> Any:
    """Compile ``function``, whose arguments and result are int64, for calls from C; return it with its ``address``.

    The machine code is kept on disk like that of loops.
    """
    numba()
    return machine_code.c_entry(function, arguments)


def object_code(function: Callable[..., int], arguments: int, of_python: bool = False, form: Form = Form.FREE) -> bytes:
    """Compile ``function``, whose arguments and result are int64, to an object file: see `machine_code.object_code`."""
    numba()
    return machine_code.object_code(function, arguments, of_python, form)
