"""The microbenchmarks: they measure what this machine charges for shared memory, and predict with it.

``python -m smp.microbench`` measures, prints and draws; ``smp.Profile`` reads what it has saved.

    model_of      the factored model of a kernel on the machine of a profile
    impact        how much faster a kernel runs if the machine changes in a given way
    cross         a kernel on two machines
    calibrated    a kernel's model, corrected by its measured runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._computer.lazy import handed_on

if TYPE_CHECKING:
    from .predictions.changes import calibrated, cross, impact, model_of

__all__ = ["calibrated", "cross", "impact", "model_of"]

__getattr__ = handed_on(__name__, dict.fromkeys(__all__, ".predictions.changes"))
