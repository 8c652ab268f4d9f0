"""The figures of a profile, each by itself: what can be compared with the same of another machine.

("latency", "random order, 64 KiB", "ns")  ->  Figure: the value, how well it is known, whether it is valid

Each section says its own, in ``facts.compared``.
"""

from __future__ import annotations

from collections.abc import Iterator

from smp.profiles.profile import Profile

from ..method.figures import Figure
from ..method.samples import Samples, samples_of
from ..sections import SECTIONS

Key = tuple[str, str, str]
"""The section, what it is, its unit."""
CLEAN = 0.85
"""Least share of a profile's windows that are clean where nothing else ran."""


def figures_of(profile: Profile) -> dict[Key, Figure]:
    """Return the figures that a profile has.

    Raises
    ------
    ProfileError
        When a section does not hold what it should; says which value is wrong.
    """
    samples = samples_of(profile)
    return {(name, each.what, each.unit): each for name in titles() for each in _figures(profile, name, samples)}


def busy(profile: Profile) -> bool:
    """Whether other processes had the computer's CPUs before the measurement, or while it went on.

    No figure of such a profile is valid: a program that shared its CPUs throughout is slow, and steadily so, and memory
    that others load is slow in windows that lost no CPU time.
    """
    conditions, cpus = profile.data.get("conditions") or {}, profile.data["machine"]["cpus"]
    load, clean = conditions.get("load_before"), conditions.get("clean_fraction")
    return (load is not None and load >= cpus) or (clean is not None and clean < CLEAN)


def titles() -> dict[str, str]:
    """Return the sections that have figures to compare, each with its title."""
    return {name: section.title for name, section in SECTIONS.items() if section.part("facts", "compared")}


def _figures(profile: Profile, name: str, samples: Samples) -> Iterator[Figure]:
    found, disturbed = profile.section(name), busy(profile)
    if found is not None:
        for figure in SECTIONS[name].part("facts", "compared")(found, samples):
            yield figure._replace(valid=figure.valid and not disturbed)
