"""What Numba asks for the machine code of a function, and gives it to: files of ours in the place of its own index.

Imported together with Numba.  Numba takes code for fresh while the file of the function is as it was, wherever in that
file the function stands; ours is kept under a key of what it is made of.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from . import kept_code
from .code_folder import CacheWarning
from .keys import key_of

_LABEL = 80  # letters of a function's name in that of a file


class Kept(NullCache):  # type: ignore[misc]
    """The kept machine code of one function.

    Parameters
    ----------
    function : callable
        As its author wrote it.
    compiled : callable
        A copy of it, which Numba compiles: it is renamed after the key, because Numba names machine code after a
        function's name, a number that counts up in each process, and the types.  Two versions of one function, from the
        disk or compiled here, could be taken for each other.
    form : str
        How it is called: as Python, or as C.
    """

    def __init__(self, function: Callable[..., Any], compiled: FunctionType, form: str) -> None:
        self._function, self._compiled, self._form = function, compiled, form
        self._path: Path | None = None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code for these types of arguments, or None where it has to be compiled."""
        types = getattr(signature, "args", signature)
        key = key_of(self._function, *types)
        self._compiled.__qualname__ = f"smp_{key}.{self._function.__qualname__}"  # its last part is in tracebacks
        self._path = None
        if self._function.__module__ not in sys.modules:  # where Numba looks for the globals of what is loaded
            return None
        target_context.refresh()
        label = f"{self._function.__module__}.{self._function.__qualname__}".replace("/", ".")[:_LABEL]
        cpu = target_context.codegen().magic_tuple()
        whole = repr((key, self._form, signature, cpu)).encode()
        self._path = kept_code.path_of(label, hashlib.blake2b(whole, digest_size=16).hexdigest(), "code")
        data = kept_code.read(self._path)
        try:
            return data and CompileResultCacheImpl.rebuild(None, target_context, pickle.loads(data))
        except Exception:  # anything: it imports the modules of the functions that the loop calls, for one
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process."""
        if result.library.has_dynamic_globals:
            warnings.warn(
                f"the machine code of {self._function.__name__!r} is not kept, because it holds addresses of this "
                "process: of a function of ctypes, or of a global array of more than a megabyte",
                CacheWarning,
                stacklevel=2,
            )
        elif self._path is not None:
            kept_code.write(self._path, dumps(CompileResultCacheImpl.reduce(None, result)))
