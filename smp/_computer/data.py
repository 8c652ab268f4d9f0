"""Where what was measured of this machine is kept, for later programs: a folder, and the machine's fingerprint.

profile-<fingerprint>.json        the last profile           see `smp.profiles.profile`
calibration-<fingerprint>.json    models of the kernels      see `smp.selection.kept`
"""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Return ``$SMP_DATA_DIR``, or ``$XDG_DATA_HOME/smp``, or ``~/.local/share/smp``."""
    home = os.environ.get("SMP_DATA_DIR")
    return Path(home) if home else Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "smp"


def fingerprint() -> str:
    """Return a short name of this machine's hardware: see `hardware.fingerprint`."""
    from . import description  # what describes a machine is imported when that is asked

    return description.fingerprint(description.hardware())


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all: beside, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
