"""Key figures of the measurements that were written to a folder, a line for each in ``history.jsonl``.

    {"created": "2026-11-26T08:00:00+00:00", "smp": "0.1.0", "mode": "quick", "figures": {"L1 latency": 0.98, ...}}

Figures that are not valid are left out.  The page draws a small line next to a key figure with three values or more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smp._computer.data import write
from smp.profiles.profile import Profile

from .key_numbers import key_figures

NAME = "history.jsonl"
History = Mapping[str, Sequence[float]]


def add_to_history(profile: Profile, folder: Path) -> Path:
    """Append the key figures of a profile to the history of a folder, and return its file.

    A profile that is measured further, after an interruption, takes the place of its earlier line.
    """
    data, file = profile.data, folder / NAME
    line = {"created": data.get("created"), "smp": data.get("smp")}
    line["mode"] = (data.get("conditions") or {}).get("mode")
    figures = {one.name: one.number for one in key_figures(profile) if not one.why}
    kept = [each for each in _lines(file) if each.get("created") != data.get("created")]
    write(file, "".join(f"{json.dumps(each)}\n" for each in [*kept, line | {"figures": figures}]))
    return file


def history_in(folder: Path) -> History:
    """Return the values of each key figure in the history of a folder, in the order of the measurements."""
    found: dict[str, list[float]] = {}
    for line in _lines(folder / NAME):
        for name, value in line["figures"].items():
            found.setdefault(name, []).append(float(value))
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a history; those that cannot be read are left out."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in map(_parsed, text.splitlines()) if line is not None]


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
        fits = all(isinstance(value, int | float) for value in line["figures"].values())
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return line if fits else None
