"""Predictions for machines of several nodes, by the functions of the section "nodes" (see `models.supersteps.far`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._output.numbers import time
from ..errors import ProfileError
from ..models.supersteps.far import FAR, charges, predict_far
from ..models.supersteps.intervals import Accesses, Interval, interval

FAMILIES = ("good", "bad")


def interval_on_nodes(section: Mapping[str, Any], supersteps: NDArray[np.void], p: int) -> Interval:
    """Return the prediction interval of each superstep.

    Parameters
    ----------
    section : mapping
        The profile's section "nodes".
    supersteps : structured array
        Supersteps as in `Run.summary`.
    p : int
        Number of processors.

    Raises
    ------
    ProfileError
        If a function is missing, because its supersteps were not measured.
    """
    functions = [_function(section, family) for family in FAMILIES]
    good, bad = (predict_far(function, supersteps) for function in functions)
    made = interval(
        supersteps["step"],
        supersteps["label"],
        Accesses(supersteps["hr"], supersteps["hw"], supersteps["m"]),
        Accesses(supersteps["hr_bytes"], supersteps["hw_bytes"], supersteps["m_bytes"]),
        supersteps["copy_in"],
        supersteps["compute"],
        supersteps["copy_out"],
        good,
        np.maximum(good, bad),
    )
    measured, said = sum(section["nodes"]), ""
    if p != measured:
        said = f"p = {p} was not measured: predicted from p = {measured} on {len(section['nodes'])} nodes"
    return made.noting(said, *(_shares(function, supersteps) for function in functions))


def _shares(function: Mapping[str, Any], supersteps: NDArray[np.void]) -> str:
    """Return a note on the parts of a prediction, near and far apart; "" without far accesses."""
    seconds = {term: float(each.sum()) for term, each in charges(function, supersteps).items()}
    far = sum(seconds.pop(term, 0.0) for term in FAR)
    if not supersteps["m_far"].any():
        return ""
    start = seconds.pop("L", 0.0)
    return (
        f"{function['family']}: {time(start)} for supersteps, {time(sum(seconds.values()))} for accesses as if all "
        f"were near, {time(far)} more for far ones and their messages"
    )


def _function(section: Mapping[str, Any], family: str) -> Mapping[str, Any]:
    for row in section.get("functions") or []:
        if row["family"] == family:
            found: Mapping[str, Any] = row
            return found
    raise ProfileError(
        f"this profile has no function of the {family} family for several nodes; "
        "python -m smp.microbench --machine mpi measures it"
    )
