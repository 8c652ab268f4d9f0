"""The figures of a profile, each by itself: what can be compared with the same of another machine.

("latency", "random order, 64 KiB", "ns")  ->  Figure: the value, whether more is better, whether it is valid

Each section says its own, in ``facts.compared``.
"""

from __future__ import annotations

from collections.abc import Iterator

from smp.profiles.profile import Profile

from ..method.figures import Figure
from ..sections import SECTIONS

Key = tuple[str, str, str]
"""The section, what it is, its unit."""


def figures_of(profile: Profile) -> dict[Key, Figure]:
    """Return the figures that a profile has.

    Raises
    ------
    ProfileError
        When a section does not hold what it should; says which value is wrong.
    """
    return {(name, figure.what, figure.unit): figure for name in titles() for figure in _figures(profile, name)}


def titles() -> dict[str, str]:
    """Return the sections that have figures to compare, each with its title."""
    return {name: section.title for name, section in SECTIONS.items() if section.part("facts", "compared")}


def _figures(profile: Profile, name: str) -> Iterator[Figure]:
    found = profile.section(name)
    if found is not None:
        yield from SECTIONS[name].part("facts", "compared")(found)
