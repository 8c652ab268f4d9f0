"""Files of machine code; each is found complete or not at all, under a key of all that the code depends on.

    cache_folder() / LABEL-KEY.SUFFIX       a checksum, then the content

A damaged file counts as absent, because damaged machine code would crash instead of raising an error.  So does a file
that another user owns or may write to, and a link: it may have been put there while the folder was open to others.  The
code is then compiled, and the file replaced.

Files with the same label are versions of the same code: of a loop for other argument types, with other numbers in its
closure, or before a change.  The versions written last are kept.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .code_folder import CacheWarning, cache_folder, flaw_of_file

_LABEL = 80  # most characters of a function's name in a file name
_SUM = 16  # bytes of the checksum
VERSIONS = 64
"""Number of files with the same label that are kept."""


def label_of(function: Callable[..., Any]) -> str:
    """Return the label of a function's machine code."""
    return f"{function.__module__}.{function.__qualname__}".replace("/", ".")[:_LABEL]


def path_of(label: str, key: str, suffix: str) -> Path:
    """Return the path of the file for a key, which must not contain a hyphen."""
    return cache_folder() / f"{label}-{key}.{suffix}"


def read(path: Path) -> bytes | None:
    """Return the content of a file, or None if it is absent or damaged."""
    try:
        with open(path, "rb", opener=_opened) as file:
            flaw, content = flaw_of_file(os.fstat(file.fileno())), file.read()
    except OSError as error:
        flaw, content = "it is a link" if error.errno == errno.ELOOP else "", b""
    if flaw:
        _refuse(path, flaw)
        return None
    data = content[_SUM:]
    return data if data and content[:_SUM] == _sum(data) else None


def write(path: Path, data: bytes, warn: bool = True) -> None:
    """Write content that `read` then returns, and remove the oldest files of the label beyond `VERSIONS`.

    Two processes may write the same file at once.  Callers that take long to make the content hold the lock of the
    label meanwhile (see `machine_code.compile_lock`).  Unless ``warn`` is false, a warning says that it failed.
    """
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        with open(beside, "xb", opener=_private) as file:
            file.write(_sum(data) + data)
        beside.replace(path)
    except OSError as error:  # a full disk: the next process compiles again
        beside.unlink(missing_ok=True)
        if not warn:
            return
        warnings.warn(
            f"machine code is not kept in {path.parent}: {error.strerror}. Each process of the program compiles its "
            "own, which can take half a minute; free some megabytes there, or set SMP_CACHE_DIR to another folder, to "
            "which only you may write",
            CacheWarning,
            stacklevel=3,
        )
    label = path.name.rpartition("-")[0]
    versions = sorted(path.parent.glob(f"{glob.escape(label)}-*"), key=_age)
    for old in versions[VERSIONS:]:
        old.unlink(missing_ok=True)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would block


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, mode=0o600)  # whatever the umask would grant to others


def _refuse(path: Path, why: str) -> None:
    """Warn that a file is not used."""
    warnings.warn(
        f"the machine code in {path} is not used: {why}, so others could have changed it; it is compiled and replaced",
        CacheWarning,
        stacklevel=3,
    )


def _age(path: Path) -> int:
    with contextlib.suppress(OSError):  # another process has removed it
        return -path.stat().st_mtime_ns
    return 0


def _sum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SUM).digest()
