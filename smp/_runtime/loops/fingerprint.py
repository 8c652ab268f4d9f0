"""What the machine code of a loop depends on beside its own file: the functions that it calls, and the globals.

Numba takes cached code for fresh when the loop's own file has not changed.  But a function of another file that the
loop calls is compiled into it, and a global number is a constant of it: either may have changed since.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
_STABLE = {"numpy", "numba", "llvmlite", "scipy", "smp", *sys.stdlib_module_names} - {"__main__"}


def fingerprint(function: Any) -> str:
    """Return a text that differs where another loop, or the same among other functions and globals, differs."""
    digest = hashlib.blake2b(digest_size=16)
    _enter(function, (), digest, set())
    return digest.hexdigest()


def _enter(value: Any, names: Iterable[str], digest: hashlib.blake2b, seen: set[object]) -> None:
    """Take up a value; of a module, the ``names`` that occur in the code: which of them are its own is not told."""
    value = inspect.unwrap(getattr(value, "py_func", value))  # a loop of ours, or Numba's own
    if isinstance(value, FunctionType):
        if value.__code__ not in seen and not _stable(value.__module__):
            seen.add(value.__code__)
            _enter_function(value, digest, seen)
    elif isinstance(value, ModuleType):
        if value not in seen and not _stable(value.__name__):
            seen.add(value)
            for name in names:
                _enter(getattr(value, name, None), names, digest, seen)
    elif isinstance(value, _PLAIN):
        digest.update(f"{type(value).__name__} {value!r};".encode())
    elif isinstance(value, tuple):
        for part in value:
            _enter(part, names, digest, seen)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(value.tobytes())


def _enter_function(function: FunctionType, digest: hashlib.blake2b, seen: set[object]) -> None:
    for code in codes(function.__code__):
        digest.update(code.co_code)
        digest.update(repr([c for c in code.co_consts if not isinstance(c, CodeType)]).encode())
        for name in code.co_names:
            digest.update(name.encode() + b"\0")
            _enter(function.__globals__.get(name), code.co_names, digest, seen)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            _enter(cell.cell_contents, (), digest, seen)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code and the codes of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _stable(module: str | None) -> bool:
    """Whether a module does not change between two runs, or (smp itself) is known by the folder's name."""
    return (module or "").partition(".")[0] in _STABLE
