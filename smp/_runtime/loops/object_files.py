"""Functions of the runtime as machine code that is compiled once, kept in a file, and loaded without Numba.

Importing Numba and setting up its compiler takes about half a second; loading finished machine code through
LLVM takes some milliseconds.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from smp._output.log import say

from . import compiler, kept_code
from .keys import key_without_numba
from .machine_code import compile_lock, first_use
from .python_calls import Form

_FREES = "NRT_MemInfo_call_dtor"
"""Numba's function that frees an array.  Some versions of Numba leave calls of it in functions that own no array, so
that they never run; but the symbol must be known."""
_LENGTH = 8  # bytes of the length, little-endian, before each object in the file


class ObjectFiles:
    """Object files of some functions, whose arguments and results are int64.

    Parameters
    ----------
    label : str
        Name of the file in which they are kept.
    functions : sequence of (callable, int)
        The functions, with the number of their arguments.
    of_python : sequence of callable
        Functions of Python's C interface (see `machine_code.object_code`).
    form : Form
        Whether they hold the interpreter's lock and make steps.
    takes : str
        How long it takes to compile them, in words.
    """

    def __init__(
        self,
        label: str,
        functions: Sequence[tuple[Callable[..., int], int]],
        of_python: Sequence[Callable[..., int]] = (),
        form: Form = Form.FREE,
        takes: str = "about ten seconds",
    ) -> None:
        self._label, self._functions, self._of_python, self._form = label, functions, of_python, form
        self._takes = takes

    def path(self) -> Path:
        """Return the path of the file in which they are kept."""
        import llvmlite.binding as llvm

        cpu = f"{llvm.get_host_cpu_name()}{llvm.get_host_cpu_features().flatten()}"
        key = key_without_numba([*(function for function, _ in self._functions), *self._of_python])
        name = hashlib.blake2b(f"{cpu} {key} {self._form}".encode(), digest_size=16).hexdigest()
        return kept_code.path_of(self._label, name, "objects")

    def _made(self, path: Path) -> list[bytes]:
        """Compile the functions, keep them, and return the object files."""
        say(first_use(f"smp's own functions, which takes {self._takes},"))
        objects = [compiler.object_code(function, count, form=self._form) for function, count in self._functions]
        objects += [compiler.object_code(function, 3, of_python=True) for function in self._of_python]
        kept_code.write(path, b"".join(len(code).to_bytes(_LENGTH, "little") + code for code in objects))
        return objects

    def engine(self) -> Any:
        """Return an engine of LLVM with the functions; compile them if no file of this version of them was kept."""
        import llvmlite.binding as llvm

        path = self.path()
        objects = kept(path)
        if objects is None:
            with compile_lock(self._label):
                objects = kept(path) or self._made(path)
        if llvm.address_of_symbol(_FREES) is None:  # Numba, which replaces it, is not in use so far
            llvm.add_symbol(_FREES, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        for code in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine


def kept(path: Path) -> list[bytes] | None:
    """Return the object files that were kept, or None if they are absent or damaged."""
    data = kept_code.read(path)
    if data is None:
        return None
    objects = []
    while data:
        end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
        objects.append(data[_LENGTH:end])
        data = data[end:]
    return objects
