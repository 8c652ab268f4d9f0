"""Text of reports and of their parts."""

from __future__ import annotations

import re
from typing import Any

from smp._output import terminal
from smp._output.table import Part
from smp.microbench.report import whole_report
from smp.profiles.profile import Profile


def printed(*parts: Part, width: int = 100) -> str:
    """Return the parts of a report as text."""
    return terminal.report(parts, width)


def section_text(name: str, data: dict[str, Any], width: int = 100, **profile: Any) -> str:
    """Return the report on one section."""
    return printed(whole_report.part(Profile({name: data, **profile}), name), width=width)


def first_screen(profile: dict[str, Any], width: int = 100) -> str:
    """Return the first screen of a profile."""
    return printed(whole_report.summary(Profile(profile)), width=width)


def summed_up(name: str, data: dict[str, Any]) -> tuple[str, str]:
    """Return a section's heading and its line on the first screen."""
    found = whole_report.SECTIONS[name].part("report", "line")(Profile({name: data}).section(name))
    return found or ("", "")


def cells(text: str, *start: str) -> list[list[str]]:
    """Return the other cells of the lines that begin with the given cells. Cells are two blanks apart."""
    found = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return [row[len(start) :] for row in found if tuple(row[: len(start)]) == start]
