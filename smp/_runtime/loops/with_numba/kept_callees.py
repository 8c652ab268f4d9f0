"""Kept text of the runtime's functions that loops call, so that a new loop does not wait until they are compiled.

    barrier ─▶ leave ─▶ wait ─▶ wake ...      LLVM's text of all, in one file
      ▲
    loop                                      found by the key of barrier and of all that it calls

The text is that which `callees` leaves, so a loop is made of the same code as if its functions had just been compiled.
Only what a loop calls directly has a file.

LLVM takes two functions with the same name for copies of one.  So each function of the runtime is named after its key.
Numba's own functions are named after numbers that count up in each process; they get the key of the file.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler import compile_result
from numba.core.serialize import dumps

from .. import kept_code
from ..keys import key_of

_OURS = "smp._runtime."
_NAMED = "_callee"
_OF_NUMBA = "NRT_"
"""Beginning of the names of functions that count references, which are the same in all processes."""
_CONSTANTS = re.compile(r'^@"?(_ZN08NumbaEnv[^"\s]*)"? =', re.MULTILINE)


def key_name(function: Callable[..., Any], state: Any) -> str:
    """Return the key of a function of the runtime with these types and flags; empty for any other function."""
    if not str(function.__module__).startswith(_OURS):
        return ""
    whole = key_of(function, *state.args) + state.flags.summary()
    return f"smp_{hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()}{_NAMED}"


def path_of(function: Callable[..., Any], name: str, state: Any) -> Path:
    """Return the path of the file of a function with the name that `key_name` returned."""
    whole = repr((name, state.args, state.targetctx.codegen().magic_tuple())).encode()
    return kept_code.path_of(kept_code.label_of(function), hashlib.blake2b(whole, digest_size=16).hexdigest(), "text")


def load(path: Path, state: Any, library: Any) -> Any:
    """Return a function as Numba's compiler would; None if no text of it was kept.

    Parameters
    ----------
    path : Path
        The file.
    state : StateDict
        Numba's state of the compilation.
    library : JITCodeLibrary
        An empty library, which receives the text.
    """
    data = kept_code.read(path)
    if data is None:
        return None
    try:
        signature, described, text = pickle.loads(data)
        module = llvm.parse_bitcode(text)
    except Exception:  # can be anything: the types in a signature are unpickled, too
        return None
    if signature.args != tuple(state.args):
        return None
    library.take(module)
    return compile_result(
        typing_context=state.typingctx,
        target_context=state.targetctx,
        entry_point=let_call(state.targetctx, described, library),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=described,
        library=library,
        call_helper=None,
        environment=None,
        metadata=None,
        reload_init=[],
        referenced_envs=(),
    )


def save(path: Path, made: Any) -> None:
    """Save a function, unless its text depends on objects or addresses of this process."""
    library, module = made.library, made.library._final_module
    text = str(module)
    used = [name for name in _CONSTANTS.findall(text) if text.count(name) > 1]
    restored = made.reload_init or getattr(library, "_reload_init", ())  # in newer versions of Numba
    if used or restored or library.has_dynamic_globals:
        return
    module = llvm.parse_assembly(text)  # a copy
    for function in module.functions:
        name = function.name
        if not function.is_declaration and _NAMED not in name and not name.startswith(_OF_NUMBA):
            function.name = f"{name}.{suffix_of(path)}"
    described = copy.copy(made.fndesc)
    described.typemap = described.calltypes = None
    kept_code.write(path, dumps((made.signature, described, module.as_bitcode())), warn=False)  # the loop's own will


def suffix_of(path: Path) -> str:
    """Return what Numba's own functions in a file have at the end of their names."""
    return path.stem.rpartition("-")[2]


def let_call(target_context: Any, described: Any, library: Any) -> Any:
    """Let other functions call one of which there is only text; return Numba's key of it."""
    nothing = list[None]().append  # it must be a function of C; nothing calls it
    target_context.insert_user_function(nothing, described, [library])
    return nothing
