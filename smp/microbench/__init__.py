"""The microbenchmarks measure what shared memory costs on this machine, and predict program times from that.

``python -m smp.microbench`` measures, prints and draws. ``smp.Profile`` reads the profile that it saves.

    model_of      the factored model of a kernel on the machine of a profile
    impact        the time of a kernel after a given change of the machine, relative to the time before
    cross         the predicted time of a kernel on another machine
    calibrated    the hybrid model of a kernel: its factored model, corrected by its measured runs
    costs_of_machines    what the same operations cost on several machines, over size
    measure_contention   processors at one word or one server on this computer, next to the times that LoPC predicts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._computer.lazy import handed_on

if TYPE_CHECKING:
    from .predictions.changes import calibrated, cross, impact, model_of
    from .predictions.contention.measured import measure_contention
    from .predictions.machine_costs import costs_of_machines

__all__ = ["calibrated", "costs_of_machines", "cross", "impact", "measure_contention", "model_of"]

__getattr__ = handed_on(
    __name__,
    dict.fromkeys(__all__, ".predictions.changes")
    | {
        "costs_of_machines": ".predictions.machine_costs",
        "measure_contention": ".predictions.contention.measured",
    },
)
