"""A digest of the code of a package, by which one sees whether it is the code that was measured.

    files of the package, and of the modules next to it  ─▶  byte code  ─▶  digest
    versions of Python, NumPy and Numba                   ─────────────────▶

A comment, a docstring or a message makes no loop faster or slower.  So the digest has neither line numbers nor texts
with spaces.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from pathlib import Path
from types import CodeType

from .keys import codes, constant_text

LIBRARIES = ("numpy", "numba")
"""Libraries whose code takes much of a kernel's time."""


@functools.cache
def digest_of(package: str) -> str:
    """Return a digest of what an imported package computes.

    It differs if the package or a module next to it was edited, or if Python, NumPy or Numba has another minor version.
    For the empty name, that of the package of a script, only the versions count.

    Notes
    -----
    Takes some 10 ms, once for each process.
    """
    numbers = platform.python_version(), *map(version, LIBRARIES)
    digest = hashlib.blake2b(repr([number.split(".")[:2] for number in numbers]).encode(), digest_size=8)
    for file in _files_of(package):
        loaded = SourceFileLoader(file.stem, str(file)).get_code(file.stem)
        for code in codes(loaded) if loaded else ():
            digest.update(repr(_essence(code)).encode())
    return digest.hexdigest()


def _files_of(package: str) -> Iterator[Path]:
    """Yield the files of a package and its inner packages, and those of the modules next to it."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is not None:
        folder = Path(file).parent
        yield from sorted(folder.rglob("*.py"))
        if "." in package:
            yield from sorted(folder.parent.glob("*.py"))


def _essence(code: CodeType) -> tuple[object, ...]:
    """Return what a code object computes: its instructions, names, and constants without texts that have spaces."""
    constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
    kept = [constant_text(one) for one in constants if not (isinstance(one, str) and " " in one)]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, kept
