"""Confirmation of the best setting of a search by running it again.

The best of many noisy trials looks better than it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .experiment import screen
from .trials import Trials


def confirm(
    trials: Trials, program: Callable[..., Any] | str | os.PathLike[str], name: str = "time", **options: Any
) -> Trials:
    """Run the best setting of an experiment again, together with the program without delays.

    Parameters
    ----------
    trials : Trials
    program : callable or path_like
        The program of the trials.
    name : str
        The response that was searched.
    **options
        Options of `screen`: machine, arguments, replicates, ... If there is a choice, use other arguments than before.
        The functions and data paths that are places are those of the trials by default.

    Returns
    -------
    Trials
        Trials of two settings: no delays, and the best one. Their ``search()`` gives the speedup and its significance.

    Raises
    ------
    ValueError
        If the best of the trials is one without delays.
    """
    best = trials.best(name)
    if not best:
        raise ValueError("the best of the trials is the one without delays, so there is nothing to confirm")
    for kind in ("functions", "paths"):
        options.setdefault(kind, trials.about.get(kind, ()))
    place = {factor: level for level, factor in enumerate(best, start=1)}
    levels = np.array([[0] * len(trials.plan.factors), [place.get(factor, 0) for factor in trials.plan.factors]])
    return screen(program, levels, treatment=[None, *best.values()], factors=trials.plan.factors, **options)
