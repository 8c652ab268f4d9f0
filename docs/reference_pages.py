"""Writes a page of the reference for each public module of smp; autodoc fills it with the docstrings.

Several modules offer the same object. It is described on the page of the first of them, and the others refer to it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

MODULES = {
    "smp.errors": "",
    "smp": "_runtime.program.superstep.Superstep _runtime.exploring.exploration.Exploration "
    "models.supersteps.intervals.Interval microbench.predictions.comparison.Comparison "
    "_runtime.program.collectives.split.Split _runtime.program.records.states.State "
    "_runtime.program.messages.transfers.Transfer _runtime.program.messages.network.Transmissions "
    "microbench.sections.placement.now.PlacementNow",
    "smp.compiled": "_runtime.memory.nets.Net",
    "smp.kernels": "kernels.grids.functions.Relaxed",
    "smp.machines": "machines.layout.results.Result",
    "smp.microbench": "models.supersteps.factored.Factored models.supersteps.hybrid.Hybrid "
    "microbench.predictions.changes.Prediction microbench.predictions.machine_costs.MachineCosts "
    "microbench.predictions.machine_costs.Cost",
    "smp.models": "",
    "smp.models.lopc": "",
    "smp.networks": "",
    "smp.patterns": "",
    "smp.perturb": "perturb.analysis.effects.Analysis perturb.analysis.speedups.Gains perturb.analysis.advice.Step "
    "perturb.analysis.versions.Compared perturb.experiments.climbing.Climb perturb.experiments.search.Search",
    "smp.profiles": "profiles.contention.Contention",
    "smp.selection": "selection.implementation.Choice selection.trial.Trial selection.neighbours.ParameterTrial",
}
"""Public modules, and the classes without a public name whose objects their functions return."""

CLASS = """.. autoclass:: {}
   :members:
   :inherited-members: BaseException, Enum, IntEnum, IntFlag, dict, float, int, list, str, tuple
"""


def public_names(module: ModuleType) -> list[str]:
    """Return the names that a module offers: its ``__all__``, or the classes and functions that it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def loaded(name: str) -> ModuleType:
    """Import a module, with those names that are otherwise imported on first use."""
    parent, _, last = name.rpartition(".")
    if parent and (module := getattr(importlib.import_module(parent), last, None)):
        sys.modules[name] = module  # smp.patterns and smp.networks are names of modules that lie elsewhere
    module = importlib.import_module(name)
    vars(module).update({one: getattr(module, one) for one in public_names(module)})
    return module


def write(folder: Path) -> None:
    """Write the pages into a folder."""
    folder.mkdir(exist_ok=True)
    described: dict[int, str] = {}
    for name, returned in MODULES.items():
        page = "\n".join(lines_of(name, returned.split(), described))
        (folder / f"{name}.rst").write_text(page, encoding="utf-8")


def lines_of(name: str, returned: list[str], described: dict[int, str]) -> Iterator[str]:
    """Yield the lines of a page; ``described`` has the full names of the objects on earlier pages, by identity."""
    module = loaded(name)
    parts: dict[str, list[str]] = defaultdict(list)
    constants: dict[type, list[str]] = defaultdict(list)
    for one in public_names(module):
        value: Any = getattr(module, one)
        if id(value) in described:
            parts["Names of other modules"].append(f"- ``{one}``: :py:obj:`{described[id(value)]}`")
        elif isinstance(value, type):
            parts["Classes"].append(CLASS.format(f"{name}.{one}"))
        elif callable(value):
            parts["Functions"].append(f".. autofunction:: {name}.{one}")
        elif isinstance(value, ModuleType):
            parts["Names of other modules"].append(f"- ``{one}``: :py:obj:`{name}.{one}`")
        else:
            constants[type(value)].append(one)
        if callable(value):
            described.setdefault(id(value), f"{name}.{one}")
    for kind, names in constants.items():
        text = indent(str(inspect.getdoc(kind)), "   ")
        parts["Constants"] += [".. py:data:: " + "\n             ".join(names), "", text, ""]
    parts["Objects that these return"] = [CLASS.format(f"smp.{one}") for one in returned]
    yield f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n"
    for title in ("Classes", "Functions", "Constants", "Objects that these return", "Names of other modules"):
        if parts[title]:
            yield "\n".join([title, "-" * len(title), "", *parts[title], ""])
