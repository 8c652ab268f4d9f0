"""The folder in which machine code is kept; no other user may be able to change it, because its content is executed.

    usual       the folder of `smp._computer.data.cache_folder`; in it a folder for each version of Python and
                of the packages that make the code; its files are named by what the code is made of (`kept_code`)
    private     if others could change the usual one, or it cannot be written: made in the temporary directory by the
                first process that needs it, found by its children through the environment, and removed when it ends

Numba unpickles the files that it finds, and smp runs the object code that it finds.  So a folder is used only if it is
a real folder, belongs to this user, and neither it nor anything in it that other users could reach can be written by
them.  The files are looked at as well when they are opened (see `kept_code.read`), since they may be older than the
folder's present rights.  In addition, no other user may be able to put another folder in its place by writing to a
folder above it.

A process that is killed by SIGKILL leaves its private folder in the temporary directory, because none of its own code
runs when it ends.  When the folder of a new version is made, the folders of other versions are removed if no code has
been looked up in them for 30 days.
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
"""Environment variable through which children find the private folder of the process that made it."""
LOCK, LOCKS = "lock", 16
"""Name and number of the files of which one is opened for writing whenever a loop's code is looked up."""
_LAYOUT = 3  # version of the folder's layout: raised when the names or the contents of its files change
_UNUSED = 30 * 86_400  # seconds
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_UNKNOWN = 65534  # a container shows this owner for files of users outside it, such as the host's root
_folder: Path | None = None
_made: list[tuple[int, Path]] = []  # private folders, each with the id of its process
_choosing = threading.Lock()


class CacheWarning(UserWarning):
    """Warns that machine code is not kept where other programs find it, so each program compiles it again."""


def cache_folder() -> Path:
    """Return the folder of this version's machine code; make it if it is absent.

    Raises
    ------
    MachineError
        If no folder can be made that is safe from changes by others.

    Warns
    -----
    CacheWarning
        If the usual folder cannot be used. The process that makes a private folder warns, once.
    """
    global _folder
    with _choosing:
        if _folder is None or not _folder.exists() or _flaw(_folder):  # a private folder is removed when its maker ends
            _folder = _chosen()
        return _folder


def _chosen() -> Path:
    try:
        return _opened(data.cache_folder())
    except (OSError, RuntimeError) as error:  # RuntimeError: this user has no home folder
        why = error
    lent = Path(os.environ.get(PRIVATE, ""))
    if lent.is_absolute() and lent.exists():
        with contextlib.suppress(OSError):
            return _opened(lent)
    folder = _private(why)
    warnings.warn(
        f"machine code is not kept: {why}. This program compiles its own, which can take half a minute; "
        "set SMP_CACHE_DIR to another folder, to which only you may write",
        CacheWarning,
        stacklevel=3,
    )
    return folder


def _private(why: Exception) -> Path:
    """Make a private folder for this process and its children."""
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
    """Return the folder of this version inside ``base``; make it if it is absent.

    Raises
    ------
    OSError
        If it cannot be used; the message gives the reason.
    """
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
    """Make a folder and those above it, accessible to this user alone, whatever the umask would grant to others."""
    if not folder.parent.exists():
        _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _remove_unused(new: Path) -> None:
    """Remove the folders of other versions that have not been used for 30 days."""
    for folder in new.parent.glob("[0-9a-f]" * len(new.name)):
        with contextlib.suppress(OSError):  # another process has removed it, or it belongs to another user
            used = [lock.stat().st_mtime for lock in folder.glob(f"{LOCK}*")]
            if used and max(used) < time.time() - _UNUSED:
                shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _version() -> str:
    """Return a hash of what all machine code depends on: the layout, Python, and the packages that make the code."""
    made_by = (_LAYOUT, sys.version, np.__version__, _release("numba"), _release("llvmlite"))
    return hashlib.blake2b(repr(made_by).encode(), digest_size=8).hexdigest()


def _release(package: str) -> bytes | str:
    """Return the version of a package without importing the package.

    If its ``_version.py`` can be read, the content of that file stands for the version, which avoids importing
    `importlib.metadata`.
    """
    spec = importlib.util.find_spec(package)
    try:
        return Path(str(spec and spec.origin)).with_name("_version.py").read_bytes()
    except OSError:
        from importlib import metadata

        return metadata.version(package)


def _flaw(folder: Path) -> str:
    """Describe how others could change what is loaded from a folder, and the remedy; empty if they cannot."""
    if not stat.S_ISDIR(folder.lstat().st_mode):
        return f"{folder} is a link or a file, not a folder: remove it"
    return _changed_by_others(folder) or next(filter(None, map(_replaced_by_others, folder.parents)), "")


def _changed_by_others(path: Path) -> str:
    """Describe how others could have written to a file or a folder; empty if they could not.

    If others can enter a folder, its content is checked as well.
    """
    found = path.lstat()
    if found.st_uid != os.geteuid():
        return f"{path} belongs to another user (uid {found.st_uid}): remove it"
    if found.st_mode & _WRITABLE and not stat.S_ISLNK(found.st_mode):
        return f"others may write to {path} ({stat.filemode(found.st_mode)}): empty it and run chmod go-w {path}"
    if stat.S_ISDIR(found.st_mode) and found.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
        for inner in path.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process renames a file that it has written
                if flaw := _changed_by_others(inner):
                    return flaw
    return ""


def flaw_of_file(found: os.stat_result) -> str:
    """Describe how others could have written an open file, given its status; empty if they could not."""
    if not stat.S_ISREG(found.st_mode):
        return "it is not a file"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (uid {found.st_uid})"
    return f"others may write to it ({stat.filemode(found.st_mode)})" if found.st_mode & _WRITABLE else ""


def _replaced_by_others(above: Path) -> str:
    """Describe how others could replace a folder inside ``above``; empty if they cannot."""
    found = above.lstat()
    if found.st_uid not in (0, os.geteuid(), _UNKNOWN):
        return f"{above} belongs to another user (uid {found.st_uid}), who may rename its contents"
    writable = found.st_mode & _WRITABLE
    if _is_own_group(found.st_gid):
        writable &= ~stat.S_IWGRP
    if writable and not found.st_mode & stat.S_ISVTX:
        return f"others may rename the contents of {above} ({stat.filemode(found.st_mode)}): run chmod go-w {above}"
    return ""


def _is_own_group(number: int) -> bool:
    """Return True if a group is this user's own: it has the user's name, and no other member.

    Many systems give each user such a group, and let it write to all of the user's files.
    """
    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _after_fork() -> None:
    global _choosing
    _choosing = threading.Lock()


@atexit.register  # registered before the handlers of machines, hence called after they have ended their processes
def _remove() -> None:
    for maker, base in _made:
        if maker == os.getpid():
            shutil.rmtree(base, ignore_errors=True)


os.register_at_fork(after_in_child=_after_fork)
