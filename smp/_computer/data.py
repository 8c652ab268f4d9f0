"""Finds the folders in which smp keeps this user's files, and writes files either completely or not at all.

cache    machine code          $SMP_CACHE_DIR, or the system's folder for caches: $XDG_CACHE_HOME/smp, ~/.cache/smp
data     measurements, named   $SMP_DATA_DIR, or the system's folder for data: $XDG_DATA_HOME/smp, ~/.local/share/smp
         by the machine

    profile-<fingerprint>.json        the last profile           see `smp.profiles.profile`
    calibration-<fingerprint>.json    models of the kernels      see `smp.selection.kept`
"""

from __future__ import annotations

import os
from pathlib import Path

CACHE, DATA = "SMP_CACHE_DIR", "SMP_DATA_DIR"


def cache_folder() -> Path:
    """Return the folder for machine code, which need not exist.

    Raises
    ------
    RuntimeError
        If the user has no home and no variable names a folder.
    """
    return _folder(CACHE)


def data_folder() -> Path:
    """Return the folder for profiles and calibrations, which need not exist.

    Raises
    ------
    RuntimeError
        If the user has no home and no variable names a folder.
    """
    return _folder(DATA)


def _folder(variable: str) -> Path:
    if named := os.environ.get(variable):
        return Path(named)
    import platformdirs  # imported only if no folder is named

    usual = platformdirs.user_cache_path("smp") if variable == CACHE else platformdirs.user_data_path("smp")
    if not usual.is_absolute():  # of a user without a home: it would be made in the working directory
        raise RuntimeError(
            f"this user has no home folder, so {usual} would be a relative path; set {variable} to a folder"
        )
    return usual


def fingerprint() -> str:
    """Return a short name of this machine's hardware: see `description.fingerprint`."""
    from . import description  # imported only if a machine is described

    return description.fingerprint(description.hardware())


def write(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all: under another name in the same folder, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)  # a failed write itself names no file
        raise
    finally:
        beside.unlink(missing_ok=True)
