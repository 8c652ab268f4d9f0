"""The section of the page on the measurement: its conditions, the parts that are missing, and the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from smp._output.page.page import Section
from smp._output.table import Table
from smp.profiles.profile import Profile

from ..sections import SECTIONS
from .facts import part as computer

ID = "method"


def method(profile: Profile, conditions: Table) -> Section:
    """Return the section.

    Parameters
    ----------
    profile : Profile
    conditions : Table
        First table of the report's first screen.
    """
    tables = [conditions, Table(notes=list(_missing(profile)))]
    if facts := profile.data.get("facts"):
        tables += computer(facts).tables
    repeat = f"This command measures it again: {command}" if (command := _command(profile)) else ""
    return Section(ID, "How it was measured", repeat, tables=tables)


def _missing(profile: Profile) -> Iterator[str]:
    """Yield the parts that were left out or made smaller, with the reasons."""
    for name, section in SECTIONS.items():
        found = profile.data.get(name) or {}
        for field, said in (("left_out", "left out"), ("capped", "made smaller")):
            if isinstance(found.get(field), str):
                yield f"{section.title}, {said}: {found[field]}"


def _command(profile: Profile) -> str:
    """Return the command that measures the same sections with the same settings; empty for a published profile."""
    data, conditions = profile.data, profile.data.get("conditions") or {}
    if "mode" not in conditions:
        return ""
    words = ["python", "-m", "smp.microbench"]
    if specification := conditions.get("specification"):
        return shlex.join([*words, "--spec", str(specification.get("file"))])
    words += [f"--{conditions['mode']}"] if conditions["mode"] != "default" else []
    if conditions.get("ranks"):
        words += ["--machine", str(conditions["ranks"]).split()[0]]
    elif conditions.get("processors"):
        words += ["-p", ",".join(map(str, conditions["processors"]))]
    own = [name for name, section in SECTIONS.items() if section.machine == profile.kind]
    measured = [name for name in own if data.get(name)]
    words += ["--only", ",".join(measured)] if measured != own else []
    words += ["--word-bytes", "4"] if conditions.get("word_bytes") == 4 else []
    words += ["--budget", f"{conditions['budget_s']:g}"] if conditions.get("budget_s") else []
    return shlex.join([*words, "--seed", str(conditions.get("seed", 1))])
