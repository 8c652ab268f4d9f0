"""The display of a profile in a notebook: the first screen of its report with the curve of memory latency, or all."""

from __future__ import annotations

from smp._output.notebook import displayed
from smp.profiles.profile import Profile

from ..method.samples import samples_of
from .page import page_of
from .plots import figures_of
from .whole_report import summary

CURVE = "latency-random"


def profile_html(profile: Profile) -> str:
    """Return the display of a profile."""
    drawn = figures_of(profile.data, "latency") if profile.data.get("latency") else ()
    return displayed([summary(profile)], next((one for one in drawn if one.id == CURVE), None))


def page_html(profile: Profile) -> str:
    """Return the whole page of a profile; see `Profile.page`."""
    return page_of(profile, samples_of(profile))
