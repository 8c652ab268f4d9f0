"""Specification files, which say what to measure with which parameters on any computer.

    mode = "quick"                 of all sections that name no other
    processors = [1, 2, "cpus"]    numbers above that of the CPUs are left out

    [sections.latency]             a section to measure; without any, all are
    mode = "full"

    [[platforms]]                  entries that hold for some computers only; a later one wins
    cpu = "AMD *"
    processors = [1, 2, 4]

The same file gives comparable profiles of several computers.

Source: Brewer, Portable High-Performance Supercomputing, sections 3.2 and 3.3.
"""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict

from .._computer.description import hardware
from .._computer.documents import Positive, Processors, Record, Rows, Size, check
from .._computer.limits import usable_cpus
from .method.plan import PlanError
from .sections import SECTIONS

CPUS = "cpus"
REMEDY = "docs/microbenchmarks.md describes the file"
Mode = Literal["quick", "default", "full"]


class _Strict(Record):
    """A table whose entries are all known."""

    model_config = ConfigDict(extra="forbid")


class _Parameters(_Strict):
    mode: Mode | None = None
    processors: list[Processors | Literal["cpus"]] | None = None
    seed: int | None = None


class _Whole(_Parameters):
    word_bytes: Literal[4, 8] | None = None
    budget_s: Positive | None = None
    oversubscribed: bool | None = None
    sections: dict[str, _Parameters] | None = None


class _Platform(_Whole):
    name: str | None = None
    cpu: str | None = None
    cpus: Size | None = None


class _File(_Whole):
    platforms: Rows[_Platform]


@dataclass(frozen=True)
class Computer:
    """The computer on which a file is used: its name in the network, its CPU, and the number of CPUs.

    Attributes
    ----------
    name, cpu : str
    cpus : int
    """

    name: str
    cpu: str
    cpus: int

    @classmethod
    def here(cls) -> Computer:
        """Return this computer."""
        return cls(platform.node(), str(hardware()["cpu"]), len(usable_cpus()))


@dataclass(frozen=True)
class Request:
    """The measurement that a file asks for on one computer.

    Attributes
    ----------
    mode : str
    processors : tuple of int
        Empty for the powers of two up to the number of CPUs.
    seed, word_bytes : int
    budget_s : float or None
    sections : dict of name to dict
        The sections to measure, each with the parameters that differ from those of all; empty for all sections.
    file : str
        Name of the file.
    """

    mode: str = "default"
    processors: tuple[int, ...] = ()
    seed: int = 1
    word_bytes: int = 8
    budget_s: float | None = None
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    file: str = ""


def requested(file: str | os.PathLike[str], computer: Computer | None = None) -> Request:
    """Read a specification file, and return what it asks for on a computer.

    Parameters
    ----------
    file : path_like
        A file in TOML.
    computer : Computer, optional
        By default this one.

    Raises
    ------
    PlanError
        If the file is missing or is not TOML, or if an entry is not known or has a wrong value.
    """
    path = Path(file)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlanError(f"there is no specification file at {path}; {REMEDY}") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"cannot read the specification file {path}: {error}; {REMEDY}") from error
    given = check(data, _File, PlanError, str(path), REMEDY)
    for each in (given, *given.platforms):
        for name in each.sections or ():
            if name not in SECTIONS:
                raise PlanError(f"{path} has a section {name!r}, which is not one of {', '.join(SECTIONS)}")
    here = computer or Computer.here()
    return _request(path.name, [given, *(each for each in given.platforms if _holds(each, here))], here)


def _holds(entry: _Platform, here: Computer) -> bool:
    """Return True if all conditions of an entry hold; an entry without conditions holds everywhere."""
    names = (entry.name, here.name), (entry.cpu, here.cpu)
    alike = all(wanted is None or fnmatchcase(has, wanted) for wanted, has in names)
    return alike and (entry.cpus is None or here.cpus >= entry.cpus)


def _request(file: str, entries: Iterable[_Whole], here: Computer) -> Request:
    chosen: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for entry in entries:
        stated = entry.to_json()
        for name, own in (stated.pop("sections", None) or {}).items():
            sections.setdefault(name, {}).update(own)
        chosen |= {key: value for key, value in stated.items() if key not in ("name", "cpu", "cpus", "platforms")}
    over = bool(chosen.pop("oversubscribed", False))
    for known in (chosen, *sections.values()):
        if "processors" in known:
            known["processors"] = _processors(known["processors"], here.cpus, over)
    ordered = {name: sections[name] for name in SECTIONS if name in sections}
    return Request(**chosen, sections=ordered, file=file)


def _processors(given: Iterable[int | str], cpus: int, over: bool) -> tuple[int, ...]:
    """Return numbers of processors for a number of CPUs; those above it are left out, or all are that number."""
    numbers = dict.fromkeys(cpus if each == CPUS else int(each) for each in given)
    return tuple(each for each in numbers if over or each <= cpus) or (cpus,)


def told(request: Request) -> str:
    """Return a line on a request, for the terminal."""
    all_of_them = ", ".join(map(str, request.processors)) or "powers of two"
    said = f"{request.file}: mode {request.mode}, processors {all_of_them}, seed {request.seed}"
    parts = [
        f"{name} ({', '.join(f'{key} {_shown(value)}' for key, value in own.items())})" if own else name
        for name, own in request.sections.items()
    ]
    return f"{said}; sections: {', '.join(parts) or 'all'}"


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def plain(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the parameters of sections as plain JSON."""
    return {
        name: {key: list(value) if isinstance(value, tuple) else value for key, value in own.items()}
        for name, own in sections.items()
    }
