"""Raw samples that are stored next to a saved profile."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.profiles.profile import Profile

Samples = dict[str, NDArray[Any]]
"""Structured arrays by name; the names of a section's arrays begin with the section's name."""


def samples_of(profile: Profile) -> Samples:
    """Return the raw samples next to a saved profile; empty if there are none, or if they cannot be read."""
    if profile.path is None:
        return {}
    name = profile.data.get("samples") or "samples.npz"
    with contextlib.suppress(Exception), np.load(profile.path.with_name(name)) as stored:  # NumPy and zip raise many
        return dict(stored)
    return {}


def select(samples: Samples, name: str, value: str | None = None, **key: Any) -> NDArray[Any] | None:
    """Return the samples under a name whose fields have the given values; None if there are none.

    Parameters
    ----------
    samples : dict of str to structured array
    name : str
    value : str, optional
        Field to return; by default all fields.
    **key
        Fields and the values that they must have.
    """
    found = samples.get(name)
    if found is None or not {*key, value or next(iter(key))} <= {*(found.dtype.names or ())}:
        return None
    for field, wanted in key.items():
        found = found[found[field] == wanted]
    return (found[value] if value else found) if len(found) else None
