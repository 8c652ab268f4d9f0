"""Keys of machine code, made from all that a loop depends on: functions, globals, and the instructions of primitives.

A function that a loop calls is compiled into the loop, and a global number becomes a constant of it.  So the key under
which machine code is kept is computed by a walk from the loop over everything that it reaches:

    function            byte code, constants, names, defaults, the values in its closure, the values of its globals
    primitive, cell     the text of the modules that generate its instructions, and the functions called there
    module              those attributes whose names occur in the code
    numbers, arrays     type and value
    packages            names only: the versions of Python and of packages that make code are in the folder's name

Docstrings and comments of functions are in no key.  Line numbers are in the keys of functions that raise exceptions,
because Numba shows them in tracebacks.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dis import hasconst, opmap
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

LOOP, INLINE, MERGED = "__smp_loop__", "__smp_inline__", "__smp_merged__"
"""Names of the attributes that mark a compiled loop, a small function for loops, and one that is merged into them."""
_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, enum.Enum, range, slice)
_PACKAGES = {"numpy", "numba", "llvmlite", "scipy", *sys.stdlib_module_names} - {"__main__"}
_OF_ALL = tuple(
    f"{__package__}.{name}"
    for name in (
        "instructions",
        "fences",
        "machine_code",
        "python_calls",
        "stepped.text",
        "stepped.library",
        "system_calls",
        "with_numba.callees",
        "with_numba.kept_callees",
        "with_numba.objects",
    )
)
"""Modules whose text is in every key."""
_NO_OPTIONS = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")  # environment variables that change no machine code
_ATOMICS = f"{__package__}.atomics"  # its primitives have a `meaning`, which is not what loops compile
_replaced: dict[int, Callable[..., Any]] = {}


def replace(function: Callable[..., Any], implementation: Callable[..., Any]) -> None:
    """Record that loops which call ``function`` compile what ``implementation`` returns instead.

    Both must stay alive as long as the process.
    """
    _replaced[id(function)] = implementation
    text_of(implementation.__module__)  # read it now: a later edit of the file does not change the imported module


def fingerprint(function: Any) -> str:
    """Return a text that differs if the loop, a function that it calls, or a global that it uses differs.

    It compares loops between the processes of one run. There, smp itself does not change, and Numba is not needed.
    """
    walk = _Walk({*_PACKAGES, "smp"}, {})
    walk.enter(function)
    return walk.digest.hexdigest()


def key_of(function: Any, *types: Any) -> str:
    """Return the key of a loop's machine code for arguments of these Numba ``types``.

    The primitives must be registered before.
    """
    walk = _made(_replaced)
    walk.note(function.__module__, function.__qualname__)
    walk.enter(function)
    walk.enter(types)
    return walk.digest.hexdigest()


@functools.cache  # once per process
def look_ahead() -> None:
    """Hash the functions of smp that loops may call, before this process is copied.

    Otherwise each copy would do so at its first call of a loop.
    """
    walk = _made(_replaced)
    for implementation in list(_replaced.values()):
        walk.enter(implementation)


def key_without_numba(functions: Iterable[Any]) -> str:
    """Return the key of the machine code of functions that use no primitives except those of `atomics`."""
    walk = _made({})
    for function in functions:
        walk.enter(function)
    return walk.digest.hexdigest()


def _made(replaced: dict[int, Callable[..., Any]]) -> _Walk:
    walk = _Walk(_PACKAGES, replaced)
    for module in _OF_ALL:
        walk.note(text_of(module))
    for name in sorted(os.environ):  # Numba reads its options from them
        if name.startswith("NUMBA_") and name not in _NO_OPTIONS:
            walk.note(name, os.environ[name])
    return walk


class _Walk:
    """A walk over everything that a function reaches; of ``stable`` packages only names are noted."""

    def __init__(self, stable: set[str], replaced: dict[int, Callable[..., Any]]) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self._stable, self._replaced = stable, replaced
        self._seen: dict[object, tuple[int, object]] = {}  # each with an object, kept so that its id stays in use

    def note(self, *parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.digest.update(len(data).to_bytes(8, "little") + data)

    def enter(self, value: Any, names: Iterable[str] = ()) -> None:
        """Add a value to the digest.

        If the value is a module, only its attributes in ``names`` are added. These are the names in the code; some of
        them may be attributes of the module.
        """
        if id(value) in self._replaced:
            value = self._replaced[id(value)]
            self.note(text_of(value.__module__))
        else:
            value = self._unwrapped(value)
        if isinstance(value, FunctionType):
            if not self._again(id(value), value):
                self._enter_function(value)
        elif isinstance(value, ModuleType):
            self.note(value.__name__)
            for name in () if self._is_stable(value.__name__) else names:
                if not self._again((value.__name__, name), value):
                    self.enter(getattr(value, name, None), names)
        elif isinstance(value, type):
            self._enter_class(value)
        elif isinstance(value, _PLAIN):
            self.note(type(value).__name__, repr(value))
        elif isinstance(value, tuple):
            self.note(type(value).__name__, str(len(value)), repr(getattr(value, "_fields", ())))
            for part in value:
                self.enter(part, names)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self.note(repr((value.dtype, value.shape, value.strides)), value.tobytes())
        elif _is_numbas(type(value)):
            self._enter_type(value)
        else:
            self.note(type(value).__qualname__, str(getattr(value, "__name__", "")))

    def _unwrapped(self, value: Any) -> Any:
        """Return the Python function of a loop that smp or Numba has made; any other value unchanged.

        The compiler options of a loop are added to the digest.
        """
        while True:
            inner = value
            if isinstance(value, FunctionType):
                inner = vars(value)["__wrapped__"] if LOOP in vars(value) else value
            elif not isinstance(value, type | ModuleType):
                inner = getattr(value, "py_func", None) or getattr(value, "__wrapped__", value)
                for option, chosen in getattr(value, "targetoptions", {}).items():
                    self.note(option, constant_text(chosen))
            if inner is value:
                return value
            value = inner

    def _again(self, key: object, value: object) -> bool:
        """Return True if this was met before; the number that it was given then is added to the digest."""
        if key in self._seen:
            self.note(str(self._seen[key][0]))
            return True
        self._seen[key] = len(self._seen), value
        return False

    def _is_stable(self, module: str | None) -> bool:
        return (module or "").partition(".")[0] in self._stable

    def _enter_function(self, function: FunctionType) -> None:
        if self._is_stable(function.__module__) or (function.__module__ == _ATOMICS and hasattr(function, "meaning")):
            self.note(function.__module__, function.__qualname__)
            return
        self.note(MERGED if MERGED in vars(function) else "")
        inside = list(codes(function.__code__))
        names = [name for code in inside for name in code.co_names]
        self.note(*(_of_code(code, code.co_filename) for code in inside))
        for name in names:  # if not global, a builtin, or an attribute whose meaning depends on the types
            self.enter(function.__globals__.get(name), names)
        self.enter(function.__defaults__)
        self.enter(tuple((function.__kwdefaults__ or {}).items()))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not assigned yet
                self.enter(cell.cell_contents, names)

    def _enter_class(self, value: type) -> None:
        """Add a class by its name.

        For an enumeration, the members are added as well; for a class of Numba types, the functions.
        """
        self.note(value.__module__, value.__qualname__, repr(getattr(value, "_fields", ())))
        if self._is_stable(value.__module__) or self._again(id(value), value):
            return
        if issubclass(value, enum.Enum):
            self.note(*map(repr, value))
        elif _is_numbas(value):
            self.note(text_of(value.__module__))  # it defines what the values of the type are in a loop
            for member in vars(value).values():
                self.enter(member if isinstance(member, FunctionType) else None)

    def _enter_type(self, value: Any) -> None:
        """Add one of Numba's types."""
        self.note(str(value))
        if not self._again(id(value), value):
            self._enter_class(type(value))
            self.enter(getattr(value, "instance_class", None))  # of named tuples and enumerations
            self.enter(tuple(getattr(value, "types", ())))


def _is_numbas(value: type) -> bool:
    """Return True if a class is a class of Numba types."""
    return any(base.__module__ == "numba.core.types.abstract" for base in value.__mro__)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


@functools.lru_cache(maxsize=10_000)
def _of_code(code: CodeType, file: str) -> bytes:
    """Return a hash of one code object by itself.

    The file is an argument because two equal code objects can come from different files.
    """
    operations = code.co_code[::2]
    constants = code.co_consts
    if constants and isinstance(constants[0], str) and not _loads_first(code):
        constants = constants[1:]  # the docstring
    kept = [
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable),
        *(code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars),
        *(constant_text(one) for one in constants if not isinstance(one, CodeType)),
    ]
    if opmap["RAISE_VARARGS"] in operations:
        kept += [file, code.co_firstlineno, code.co_linetable]
    return hashlib.blake2b(code.co_code + repr(kept).encode(), digest_size=16).digest()


def _loads_first(code: CodeType) -> bool:
    """Return True if the code uses its first constant, which can be a docstring as well."""
    return any(op in hasconst and arg == 0 for op, arg in zip(code.co_code[::2], code.co_code[1::2], strict=True))


def constant_text(value: Any) -> str:
    """Return the text of a constant, the same in all processes: sets are sorted."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__} {sorted(map(repr, value))}"
    return f"{type(value).__name__} {value!r}"


@functools.cache
def text_of(module: str) -> bytes:
    """Return a hash of the source text of a module; empty if it has no file."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        spec: Any = importlib.util.find_spec(module)
        return hashlib.blake2b(spec.loader.get_data(spec.origin), digest_size=16).digest()
    return b""
