"""Perturbation tuning: find by designed experiments which places of a program its run time is sensitive to.

Delays are inserted at named places (factors) in planned patterns (a design). A trial is a run of the program with one
pattern. Its responses are measured: the time, the memory, and the numbers that the program returns. From the responses
the effect of each place, and of places together, is computed. The method is that of G. Lyon, R. Snelick and R. Kacker,
Synthetic-Perturbation Tuning of MIMD Programs, NISTIR 5131, 1993 ("the paper", whose sections, tables and figures the
modules cite).

    with factor("swap"):                  name a place; also @factor(...) on functions, delay(...) in compiled loops
        ...
    with placed("module.function"):       make each call of a function a place, without a change of its source
        ...
    trials = screen(program, "2^(6-2)")   run the experiment
    print(trials.analyse("time"))         show the effect of each place on the time

``python -m smp.perturb program.py`` does the same for a script.

places        named places of a program, and the treatments there: Busy, Stretch, Work, Sleep, Lock, Cell, Message, ...
designs       which places are treated in which trial: 2^p, 2^(p-k), Plackett-Burman, orthogonal arrays
files         experiments saved in JSON files
experiments   trials: planned, run, saved and resumed; searches for fast settings; ladders of several delays
analysis      effects and their uncertainty, gains, the next step, as numbers, text and figures
command       the command line; results holds the output that it makes of trials and of ladders
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._computer.lazy import handed_on

from ..errors import TrialFailed
from .places.contexts import counted, treated
from .places.counting import Met
from .places.factors import delay, factor
from .places.functions import placed
from .places.treatments import Buffer, Busy, Cell, Lock, Message, Share, Sleep, Stretch, Treatment, Work, treatment

if TYPE_CHECKING:
    from .analysis.versions import compare
    from .experiments.climbing import climb
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
    "Stretch",
    "Treatment",
    "TrialFailed",
    "Trials",
    "Work",
    "carried",
    "climb",
    "compare",
    "confirm",
    "counted",
    "delay",
    "factor",
    "placed",
    "screen",
    "treated",
    "treatment",
]

__getattr__ = handed_on(
    __name__,
    {
        "Trials": ".experiments.trials",
        "carried": ".places.carrying",
        "climb": ".experiments.climbing",
        "compare": ".analysis.versions",
        "confirm": ".experiments.confirmation",
        "screen": ".experiments.experiment",
    },
)
"""Import these names on first use: their modules take a while to import, or depend on machines."""
