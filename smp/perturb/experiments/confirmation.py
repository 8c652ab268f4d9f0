"""The best setting that a search found, run again: the best of many noisy trials looks better than it is."""

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
    """Run the best setting of an experiment again, beside the program without delays.

    Parameters
    ----------
    trials : Trials
    program : callable or path_like
        That of the trials.
    name : str
        The response that was searched.
    **options
        Of `screen`: machine, arguments, replicates, ...; with other arguments than before, where there is a choice.

    Returns
    -------
    Trials
        Of two settings, no delays and the best one: their ``search()`` has the speedup, and says if it is significant.

    Raises
    ------
    ValueError
        When none of the trials was faster than the program without delays.
    """
    best = trials.best(name)
    if not best:
        raise ValueError("the best of the trials is the one without delays: there is nothing to confirm")
    place = {factor: level for level, factor in enumerate(best, start=1)}
    levels = np.array([[0] * len(trials.plan.factors), [place.get(factor, 0) for factor in trials.plan.factors]])
    return screen(program, levels, treatment=[None, *best.values()], factors=trials.plan.factors, **options)
