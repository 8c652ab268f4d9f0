"""The raw samples beside a saved profile."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.profiles.profile import Profile

Samples = dict[str, NDArray[Any]]
"""Structured arrays by name; a section's begin with its name."""


def samples_of(profile: Profile) -> Samples:
    """Return the raw samples beside a saved profile, where they still are."""
    if profile.path is None:
        return {}
    name = profile.data.get("samples") or "samples.npz"
    with contextlib.suppress(Exception), np.load(profile.path.with_name(name)) as stored:  # NumPy and zip raise any
        return dict(stored)
    return {}


def select(samples: Samples, name: str, value: str | None = None, **key: Any) -> NDArray[Any] | None:
    """Return those of a name's samples whose fields have some values; None where there are none.

    Parameters
    ----------
    samples : dict of str to structured array
    name : str
    value : str, optional
        The field to return; by default all of them.
    **key
        Fields and their values.
    """
    found = samples.get(name)
    if found is None or not {*key, value or next(iter(key))} <= {*(found.dtype.names or ())}:
        return None
    for field, wanted in key.items():
        found = found[found[field] == wanted]
    return (found[value] if value else found) if len(found) else None
