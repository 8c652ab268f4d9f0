"""The whole report: a first screen, a part for each section that was measured, and the facts of the computer."""

from __future__ import annotations

from smp._output.table import Part
from smp.profiles.profile import Profile

from ..output.format import reasons
from ..sections import SECTIONS
from .facts import part as computer
from .first_screen import summary as summary


def whole(profile: Profile) -> list[Part]:
    """Return the first screen, the sections and the facts."""
    facts = profile.data.get("facts")
    return [summary(profile), *sections(profile), *([computer(facts)] if facts else [])]


def sections(profile: Profile) -> list[Part]:
    """Return the part of each section that was measured, in the order in which they are measured."""
    return [part(profile, name) for name in SECTIONS if profile.data.get(name)]


def part(profile: Profile, name: str) -> Part:
    """Return the part of one section: its tables, and the reasons if it is not valid."""
    section, found = SECTIONS[name], profile.section(name)
    title = section.title[0].upper() + section.title[1:]
    note = f"Not valid: {reasons(found)}." if found.valid is False else ""
    return Part(title, list(section.part("report", "tables")(found, profile)), note)
