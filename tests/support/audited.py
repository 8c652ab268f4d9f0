"""A check that no code runs and no process starts while a file is read.

Python reports such events to audit hooks.  A hook cannot be removed, so there is one, which is idle outside of `quiet`.
"""

import contextlib
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class"}
FORBIDDEN |= {"marshal.loads", "ctypes.dlopen", "exec"}
_happened: list[str] = []
_watching = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event in FORBIDDEN:
        what = args[0] if args else ""
        if event == "exec" and isinstance(what, CodeType) and _is_ours(what):
            return
        _happened.append(f"{event} {what!r}"[:300])


def _is_ours(code: CodeType) -> bool:
    """Return True for a module that is imported, not for text that was compiled."""
    return not code.co_filename.startswith("<") or code.co_filename.startswith("<frozen ")


@contextlib.contextmanager
def quiet(*but: str) -> Iterator[None]:
    """Check that the statements run no code that came from elsewhere, and start no process; all ``but`` some events."""
    global _watching
    _happened.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    seen = [event for event in _happened if not event.startswith(but)]
    assert not seen, seen


sys.addaudithook(_hook)
