"""Where machine code is kept: a folder that no other user can change, because what lies in it is run.

    usual       the folder of `smp._computer.data.cache_folder`; in it a folder for each version of Python and
                of the packages that make the code; its files are named by what the code is made of (`kept_code`)
    private     where others could change the usual one, or it cannot be written: made in the temporary directory by the
                first process that needs it, found by its children through the environment, and removed when it ends

Numba unpickles what it finds, and smp runs the object code that it finds.  So a folder is used only if it is a real
one, belongs to this user and is closed to the writing of others, with all that they could reach in it; and if no
other user may put another in its place, by writing to a folder above it.  A process that is killed by SIGKILL leaves
its private folder in the temporary directory: none of its own code runs at its end.

When the folder of a new version is made, those of other versions go in which no code was sought for 30 days.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import grp
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from smp._computer import data
from smp.errors import MachineError

PRIVATE = "SMP_PRIVATE_CACHE"
"""Variable of the environment by which children find the private folder of the process that made it."""
LOCK = "lock"
"""File of the folder that is opened for writing whenever a loop's code is sought."""
_LAYOUT = 2  # of the folder: counted up when the files in it are named otherwise, or hold something else
_UNUSED = 30 * 86_400  # s
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_UNKNOWN = 65534  # whom a container takes for the owner of what belongs to a user outside it, as the system's root
_folder: Path | None = None
_made: list[tuple[int, Path]] = []  # private folders, each with the process that made it
_choosing = threading.Lock()


class CacheWarning(UserWarning):
    """Machine code cannot be kept in the usual folder; it is compiled again by each program."""


def cache_folder() -> Path:
    """Return the folder of this version's machine code, made if absent.

    Raises
    ------
    MachineError
        No folder can be made that others cannot change.

    Warns
    -----
    CacheWarning
        The usual folder cannot be used; once, in the process that makes a private one.
    """
    global _folder
    with _choosing:
        if _folder is None or not _folder.exists() or _flaw(_folder):  # a private one ends with who made it
            _folder = _chosen()
        return _folder


def _chosen() -> Path:
    try:
        return _opened(data.cache_folder())
    except (OSError, RuntimeError) as error:  # RuntimeError: this user has no home
        why = error
    lent = Path(os.environ.get(PRIVATE, ""))
    if lent.is_absolute() and lent.exists():
        with contextlib.suppress(OSError):
            return _opened(lent)
    folder = _private(why)
    warnings.warn(
        f"machine code is not kept: {why}. This program compiles it for itself, which can take half a minute; "
        "SMP_CACHE_DIR can name another folder, to which only you may write",
        CacheWarning,
        stacklevel=3,
    )
    return folder


def _private(why: Exception) -> Path:
    """Make a private folder, for this process and its children."""
    try:
        base = Path(tempfile.mkdtemp(prefix="smp-cache-"))
        _made.append((os.getpid(), base))
        folder = _opened(base)
    except OSError as error:
        raise MachineError(
            f"there is no safe folder for machine code: {why}; {error}. Set SMP_CACHE_DIR to a folder to which only "
            "you may write"
        ) from error
    os.environ[PRIVATE] = str(base)
    return folder


def _opened(base: Path) -> Path:
    """Return the folder of this version in another one, made if absent; OSError says why it cannot be used."""
    folder = base.resolve() / _version()
    if not folder.exists():
        _make(folder)
        _remove_unused(folder)
    if flaw := _flaw(folder):
        raise PermissionError(flaw)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} is read-only")
    return folder


def _make(folder: Path) -> None:
    """Make a folder and those above it for this user alone, whatever the umask would give to others."""
    if not folder.parent.exists():
        _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _remove_unused(new: Path) -> None:
    """Remove the folders of other versions that have not been in use for long."""
    for lock in new.parent.glob(f"{'[0-9a-f]' * len(new.name)}/{LOCK}"):
        with contextlib.suppress(OSError):  # another process removes it, or it belongs to another user
            if lock.stat().st_mtime < time.time() - _UNUSED:
                shutil.rmtree(lock.parent, ignore_errors=True)


@functools.cache
def _version() -> str:
    """Name what all machine code depends on: the layout of the folder, Python, the packages that make the code."""
    made_by = (_LAYOUT, sys.version, np.__version__, _release("numba"), _release("llvmlite"))
    return hashlib.blake2b(repr(made_by).encode(), digest_size=8).hexdigest()


def _release(package: str) -> bytes | str:
    """Say which version of a package is there, without importing it, nor what reads its metadata."""
    spec = importlib.util.find_spec(package)
    try:
        return Path(str(spec and spec.origin)).with_name("_version.py").read_bytes()
    except OSError:
        from importlib import metadata

        return metadata.version(package)


def _flaw(folder: Path) -> str:
    """Say how others could change what is loaded from a folder, and the remedy; nothing where they cannot."""
    if not stat.S_ISDIR(folder.lstat().st_mode):
        return f"{folder} is no folder but a link or a file: remove it"
    return _changed_by_others(folder) or next(filter(None, map(_replaced_by_others, folder.parents)), "")


def _changed_by_others(path: Path) -> str:
    """Say how others could have written to a file, or to a folder or what they could reach in it."""
    found = path.lstat()
    if found.st_uid != os.geteuid():
        return f"{path} belongs to another user, number {found.st_uid}: remove it"
    if found.st_mode & _WRITABLE and not stat.S_ISLNK(found.st_mode):
        return f"others may write to {path} ({stat.filemode(found.st_mode)}): empty it and run chmod go-w {path}"
    if stat.S_ISDIR(found.st_mode) and found.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
        for inner in path.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process renames what it has written
                if flaw := _changed_by_others(inner):
                    return flaw
    return ""


def _replaced_by_others(above: Path) -> str:
    """Say how others could put another folder in the place of one in ``above``."""
    found = above.lstat()
    if found.st_uid not in (0, os.geteuid(), _UNKNOWN):
        return f"{above} belongs to another user, number {found.st_uid}, who may rename what is in it"
    writable = found.st_mode & _WRITABLE
    if _is_own_group(found.st_gid):
        writable &= ~stat.S_IWGRP
    if writable and not found.st_mode & stat.S_ISVTX:
        return f"others may rename what is in {above} ({stat.filemode(found.st_mode)}): run chmod go-w {above}"
    return ""


def _is_own_group(number: int) -> bool:
    """Whether a group is that of this user alone, which many systems give to each, and let write to all of his."""
    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _after_fork() -> None:
    global _choosing
    _choosing = threading.Lock()


@atexit.register  # at import, before machines: what they have running is ended first
def _remove() -> None:
    for maker, base in _made:
        if maker == os.getpid():
            shutil.rmtree(base, ignore_errors=True)


os.register_at_fork(after_in_child=_after_fork)
