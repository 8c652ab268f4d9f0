"""Files of machine code: each is found whole or not at all, under a key of all that the code depends on.

    cache_folder() / LABEL-KEY.SUFFIX       a check sum, then the content

What is damaged is taken for absent, because damaged machine code would crash, not raise.  Files of one label are
versions of the same code: a loop's for other types of its arguments, closed over other numbers, before a change.  The
last ones made are kept.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
from pathlib import Path

from .code_folder import cache_folder

_SUM = 16  # bytes of the check sum
VERSIONS = 64
"""How many files of one label are kept."""


def path_of(label: str, key: str, suffix: str) -> Path:
    """Return where code is kept under a key, which has no hyphen in it."""
    return cache_folder() / f"{label}-{key}.{suffix}"


def read(path: Path) -> bytes | None:
    """Return the content of a file, or None where there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_SUM:]
    return data if data and content[:_SUM] == _sum(data) else None


def write(path: Path, data: bytes) -> None:
    """Keep what `read` returns, and remove the oldest of too many versions; the caller holds the compiler's lock."""
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        beside.write_bytes(_sum(data) + data)
        beside.replace(path)
    except OSError:  # a full disk: the next process compiles again
        beside.unlink(missing_ok=True)
    label = path.name.rpartition("-")[0]
    versions = sorted(path.parent.glob(f"{glob.escape(label)}-*"), key=_age)
    for old in versions[VERSIONS:]:
        old.unlink(missing_ok=True)


def _age(path: Path) -> int:
    with contextlib.suppress(OSError):  # another user of the folder has removed it
        return -path.stat().st_mtime_ns
    return 0


def _sum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SUM).digest()
