"""A replacement for Numba's cache: Numba looks up machine code in smp's files, and saves it there.

Numba's own cache treats code as up to date as long as the function's source file is unchanged, wherever in that file
the function is.  Here code is kept under a key of all that it is made of.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core import environment
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from .. import kept_code
from ..code_folder import CacheWarning
from ..keys import key_of


class Kept(NullCache):  # type: ignore[misc]
    """The kept machine code of one function.

    Parameters
    ----------
    function : callable
        The function as its author wrote it.
    compiled : callable
        A copy of the function, which Numba compiles. It is renamed after the key and the form, because Numba names
        machine code after a function's name, a number that counts up in each process, and the types. Two versions of
        one function, loaded from disk or compiled here, could otherwise be mistaken for each other.
    form : str
        How the code is called: "loop" from Python and loops, "C" from C, "stepped" on emulated machines, "counted" and
        a key if it counts operations.
    """

    def __init__(self, function: Callable[..., Any], compiled: FunctionType, form: str) -> None:
        self._function, self._compiled, self._form = function, compiled, form
        self._path: Path | None = None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code for these argument types, or None if it has to be compiled."""
        types = getattr(signature, "args", signature)
        key = key_of(self._function, *types)
        self._compiled.__qualname__ = f"smp_{key}_{self._form}.{self._function.__qualname__}"  # shown: its last part
        self._path = None
        target_context.refresh()
        cpu = target_context.codegen().magic_tuple()
        label = kept_code.label_of(self._function)
        whole = repr((key, self._form, signature, cpu)).encode()
        self._path = kept_code.path_of(label, hashlib.blake2b(whole, digest_size=16).hexdigest(), "code")
        data = kept_code.read(self._path)
        try:
            return data and CompileResultCacheImpl.rebuild(None, target_context, _Loading(data, self._function).load())
        except Exception:  # can be anything: the types in a signature are unpickled, too
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save compiled code, unless it holds addresses of this process."""
        if result.library.has_dynamic_globals:
            warnings.warn(
                f"the machine code of {self._function.__name__!r} is not kept, because it holds addresses of this "
                "process: that of a ctypes function, or of a global array of more than a megabyte",
                CacheWarning,
                stacklevel=2,
            )
        elif self._path is not None:
            kept_code.write(self._path, dumps(CompileResultCacheImpl.reduce(None, result)))


class _Loading(pickle.Unpickler):
    """The way back from bytes, without imports of the modules in which loops are defined.

    Numba imports the module of each function for its globals, which compiled code does not use. This process cannot
    import a module of functions that were sent to it by value.
    """

    def __init__(self, data: bytes, function: Callable[..., Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._globals = function.__globals__

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._environment if found is environment._rebuild_env else found

    def _environment(self, module: str, constants: Any, name: str) -> Any:
        known = environment.lookup_environment(name)
        if known is not None or module in sys.modules:
            return environment._rebuild_env(module, constants, name)
        made = environment.Environment._memo[name] = environment.Environment(self._globals)
        made.consts[:] = constants
        made.env_name = name
        return made
