"""Saving of trials while an experiment is under way, so that the same experiment can resume with them."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import CellType, CodeType
from typing import Any

import numpy as np

from smp._computer.data import write
from smp.errors import ExperimentError

from ..files.saved import checked, read
from .observed import Arguments
from .plan import Plan


def about_program(program: Any, arguments: Arguments) -> dict[str, Any]:
    """Return the data that identify a program: its current source, its bound values, and its arguments."""
    bound: list[Any] = []
    while isinstance(program, functools.partial):
        bound += [program.args, program.keywords]
        program = program.func
    for holder in (program, getattr(program, "__self__", None)):
        bound.append(getattr(holder, "__dict__", None) if not inspect.ismodule(holder) else None)
    bound.append([cell.cell_contents for cell in getattr(program, "__closure__", None) or () if _filled(cell)])
    return {
        "source": hashlib.blake2b(_source(program), digest_size=16).hexdigest(),
        "bound": _told(bound),
        "arguments": "made anew" if callable(arguments) else _told(list(arguments)),
    }


def taken_up(identity: Mapping[str, Any], plan: Plan, kept: Path) -> tuple[Plan, list[list[float]]]:
    """Return the plan and the rows that `keep` saved, or the given plan and no rows if it saved none.

    The saved plan is used because a new count would turn shares into other delays.

    Raises
    ------
    ExperimentError
        If the saved data are damaged, or belong to another experiment.
    """
    if not kept.exists():
        return plan, []
    try:
        data = read(kept)
        checked(data, "KeptLayout")
        exact, rows = Plan.from_json(data["plan"]), data["rows"]
    except ValueError as error:
        raise ExperimentError(f"cannot resume from {kept}: {error}; remove it to start again") from error
    told = json.loads(json.dumps(identity))
    if data["experiment"] != told:
        raise ExperimentError(
            f"{kept} holds trials of another experiment, or of the program before it was changed: remove it (--anew "
            "does), or give another file"
        )
    fits = exact.factors == plan.factors and np.array_equal(exact.levels, plan.levels)
    if not fits or len(rows) > len(told["order"]) or any(len(row) != len(told["responses"]) for row in rows):
        raise ExperimentError(
            f"cannot resume from {kept}: its trials are not those of its experiment; remove it to start again"
        )
    return exact, [[float(value) for value in row] for row in rows]


def keep(identity: Mapping[str, Any], plan: Plan, rows: list[list[float]], kept: Path) -> None:
    """Save the measurements of an experiment."""
    write(kept, json.dumps({"experiment": identity, "plan": plan.to_json(), "rows": rows}))


def _source(program: Any) -> bytes:
    """Return the file that a program is defined in, or its code if there is no file."""
    try:
        file = program if isinstance(program, str | os.PathLike) else inspect.getsourcefile(inspect.unwrap(program))
        return Path(file or "").read_bytes()
    except (OSError, TypeError):
        return _code(getattr(program, "__code__", None))


def _code(code: Any) -> bytes:
    if not isinstance(code, CodeType):
        return b""
    inner = b"".join(_code(one) or _told(one).encode() for one in code.co_consts)
    return code.co_code + repr(code.co_names).encode() + inner


def _told(value: Any) -> str:
    """Describe a value in a text that is the same in every process."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype}{value.shape} {hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_told(key)}: {_told(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_told, value))}]"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
