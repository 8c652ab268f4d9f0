"""Trials that were measured are kept in a file while an experiment is under way, and taken up by the same one."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._kept import write
from .observed import Arguments
from .plan import Plan


def about_program(program: Any, arguments: Arguments) -> dict[str, Any]:
    """Return by what a program is known again: its source as it is now, and what it is called with."""
    return {
        "source": hashlib.blake2b(_source(program), digest_size=16).hexdigest(),
        "arguments": "made anew" if callable(arguments) else [repr(one) for one in arguments],
    }


def taken_up(identity: Mapping[str, Any], plan: Plan, kept: Path | None) -> tuple[Plan, list[list[float]]]:
    """Return the plan and the rows that `keep` has saved, if it has: another count would make other delays of shares.

    Raises
    ------
    ValueError
        They are of another experiment.
    """
    if kept is None or not kept.exists():
        return plan, []
    try:
        data = json.loads(kept.read_text(encoding="utf-8"))
        same = data["experiment"] == json.loads(json.dumps(identity))
        plan, rows = Plan.from_json(data["plan"]), data["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"cannot resume from {kept}: {error}; remove it to begin anew") from error
    if not same:
        raise ValueError(
            f"{kept} holds trials of another experiment, or of the program before it was changed: remove it (--anew "
            "does), or give another file"
        )
    return plan, [[float(value) for value in row] for row in rows]


def keep(identity: Mapping[str, Any], plan: Plan, rows: list[list[float]], kept: Path) -> None:
    """Save what was measured."""
    write(kept, json.dumps({"experiment": identity, "plan": plan.to_json(), "rows": rows}))


def _source(program: Any) -> bytes:
    """The file that a program stands in; what it is made of, where there is none."""
    while isinstance(program, functools.partial):
        program = program.func
    try:
        file = program if isinstance(program, str | os.PathLike) else inspect.getsourcefile(inspect.unwrap(program))
        return Path(file or "").read_bytes()
    except (OSError, TypeError):
        code = getattr(program, "__code__", None)
        return b"" if code is None else code.co_code + repr(code.co_consts).encode()
