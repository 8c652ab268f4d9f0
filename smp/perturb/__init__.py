"""Perturbation tuning: find by designed experiments what the response of a program is sensitive to.

Delays are set at named places (factors) in patterns (a design), the responses of all trials are measured, and the
effect of each place, and of places together, is computed (G. Lyon, R. Snelick and R. Kacker, NISTIR 5131, 1993).

    with factor("swap"):                  a place of the program: here, @factor on functions, delay() in compiled loops
        ...
    trials = screen(program, "2^(6-2)")   run the experiment
    print(trials.analyse("time"))         what is the program sensitive to?

``python -m smp.perturb program.py`` does it for a script.

Experiments
    factors         named places; treated, counted
    treatments      what is done there: Busy, Work, Sleep, Lock, Cell, Message, Buffer; Share of the time in the place
    experiment      screen: run the trials of a design on a function, an SPMD program, a script
    trials          what was measured, and its analyses
    runners         what runs the trials of a program; counting its places
    observed, script, carrying, site, memory     how a trial is run and watched, and treatments get to processors
    resuming        trials kept while an experiment is under way
    saved           files of trials, and of ladders
    climb           one design with each of several delays
    command         the command
    results         what it makes of trials and of ladders alike

Designs
    designs         2^p, 2^(p-k), Plackett-Burman, by name; recovered from signs
    design          what a design is: levels, contrasts, aliases, resolution, foldover
    hadamard        the matrices that all of them are columns of
    words           effects as words, products over the two-element field
    aliases         words counted from the trials, aliases found from the columns
    catalogue       published generators
    aberration      generators beyond the tables
    orthogonal      arrays of more levels, to search
    schedule        random order, replications, blocks in time

Analysis
    effects         effects, their uncertainty, marks
    lenth           the uncertainty where nothing was replicated
    anova           analysis of variance
    table           effects and trials as text
    compare         two versions of a program
    interactions    conditional effects, saturation
    ladder          several delays at one place
    gains           what making a place faster would bring
    power           what trials could have shown; what would decide
    advice          the next step
    search          settings of delays that make a program faster, and their confirmation
    figures         half-normal, effects, ladders, a response
    plots           the same, drawn
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..errors import TrialFailed
from .places.counting import Met
from .places.factors import counted, delay, factor, treated
from .places.treatments import Buffer, Busy, Cell, Lock, Message, Share, Sleep, Treatment, Work, treatment

if TYPE_CHECKING:
    from .experiments.climb import climb
    from .experiments.confirmation import confirm
    from .experiments.experiment import screen
    from .experiments.trials import Trials
    from .places.carrying import carried

__all__ = [
    "Buffer",
    "Busy",
    "Cell",
    "Lock",
    "Message",
    "Met",
    "Share",
    "Sleep",
    "Treatment",
    "TrialFailed",
    "Trials",
    "Work",
    "carried",
    "climb",
    "confirm",
    "counted",
    "delay",
    "factor",
    "screen",
    "treated",
    "treatment",
]

_LATER = {
    "Trials": ".experiments.trials",
    "carried": ".places.carrying",
    "climb": ".experiments.climb",
    "confirm": ".experiments.confirmation",
    "screen": ".experiments.experiment",
}
"""Public names whose modules take a while to import, and those that stand on machines: when they are asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module 'smp.perturb' has no attribute {name!r}")
