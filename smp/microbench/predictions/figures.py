"""The figures of a profile that can be compared with the same figures of another machine.

("latency", "random order, 64 KiB", "ns")  ->  Figure: the value, its uncertainty, whether it is valid

The figures of each section come from its ``facts.compared``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.frames import frame
from smp.profiles.profile import Profile

from ..method.figures import Figure
from ..method.samples import Samples, samples_of
from ..sections import SECTIONS

Key = tuple[str, str, str]
"""Section, name and unit of a figure."""
CLEAN = 0.85
"""Least share of a profile's windows that are clean if nothing else ran."""


def figures_of(profile: Profile) -> dict[Key, Figure]:
    """Return the figures that a profile has.

    Raises
    ------
    ProfileError
        When a section does not hold what it should; the message says which value is wrong.
    """
    samples = samples_of(profile)
    return {(name, each.what, each.unit): each for name in titles() for each in _figures(profile, name, samples)}


def frame_of(profile: Profile) -> Any:
    """Return the figures as a data frame: see `Profile.to_frame`."""
    found = figures_of(profile)
    keys = {name: [key[k] for key in found] for k, name in enumerate(("section", "what", "unit"))}
    names = ("value", "more_is_better", "valid")
    return frame(keys | {name: [getattr(one, name) for one in found.values()] for name in names})


def busy(profile: Profile) -> bool:
    """Return True if other processes used the computer's CPUs before or during the measurement.

    No figure of such a profile is valid.  A program that shared its CPUs throughout is slow, and steadily so.  Memory
    that other processes load is slow even in windows that lost no CPU time.
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
