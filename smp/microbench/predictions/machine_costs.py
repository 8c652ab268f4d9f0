"""The costs of the same operations on several machines, over size, for one pair of axes.

    machine files, profiles ── each an emulated machine ── the same programs in virtual time ── a line for each machine

So machines that are not at hand are compared with this computer, whose profile is a machine too
(`smp.profiles.ThisComputer`).  A machine without shared memory cannot run programs whose loops read global arrays; the
line is then left out, with the reason.

Source: Brewer, Portable High-Performance Supercomputing, figure 4-2.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smp._output import terminal
from smp._output.figure import BLACK, COLOURS, Axis, Figure, Panel, Series
from smp._output.frames import frame
from smp._output.notebook import displayed
from smp._output.table import Cell, Column, Part, Table, text
from smp._runtime.kinds import emulated
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.errors import ProcessorRaised, Unsupported
from smp.kernels.lists.forms import FORMS as LISTS
from smp.kernels.sorting.forms import FORMS as SORTS
from smp.profiles.profile import Profile

from .changes import opened

SIZES = (1, 10, 100, 1_000, 10_000)
"""Words, nodes or keys of a processor."""
REPEATS = 3
"""Runs of which the shortest counts: local work of a profile's machine is measured, and so is not always the same."""
MANY = 10
"""Barriers or supersteps in a row. One more is subtracted, so that the start of the run does not count."""
WIDTH = 100
Given = str | os.PathLike[str] | Profile
"""Name of a machine file, such as "cm5", or a path of one, or a profile or its path."""


@dataclass(frozen=True)
class Cost:
    """The cost of an operation on a machine.

    Attributes
    ----------
    machine, operation : str
    n : int
        Size for each processor, in words of 8 bytes, nodes or keys; 0 for a barrier.
    seconds : float
        Virtual time; NaN if the machine cannot run the program.
    why : str
        Why it cannot; empty if it can.
    """

    machine: str
    operation: str
    n: int
    seconds: float
    why: str = ""


@dataclass(frozen=True)
class MachineCosts:
    """Costs of operations on several machines; when printed, it is a table with a column for each machine.

    Attributes
    ----------
    processors : int
    costs : tuple of Cost
        In the order of operations, machines and sizes.
    """

    processors: int
    costs: tuple[Cost, ...]

    @property
    def machines(self) -> tuple[str, ...]:
        """Names of the machines."""
        return tuple(dict.fromkeys(one.machine for one in self.costs))

    def of(self, operation: str, machine: str) -> list[Cost]:
        """Return the costs of an operation on a machine, by size."""
        return [one for one in self.costs if (one.operation, one.machine) == (operation, machine)]

    def to_json(self) -> dict[str, Any]:
        """Return the costs as plain JSON."""
        rows = [asdict(one) | ({"seconds": None} if one.why else {}) for one in self.costs]
        return {"processors": self.processors, "costs": rows}

    def to_frame(self) -> Any:
        """Return the costs as a ``pandas.DataFrame``, one in each row."""
        return frame({name: [getattr(one, name) for one in self.costs] for name in Cost.__dataclass_fields__})

    def report(self) -> Part:
        """Return the table of all costs, and the reasons why machines cannot run an operation."""
        names = self.machines
        known = {(one.operation, one.n, one.machine): one for one in self.costs}
        rows: list[list[Cell]] = [
            [OPERATIONS[operation].title, n or "", *(_cell(known[operation, n, name]) for name in names)]
            for operation, n in dict.fromkeys((one.operation, one.n) for one in self.costs)
        ]
        columns = (text("operation"), Column("size", form="count"), *(Column(name, form="time") for name in names))
        reasons = dict.fromkeys(f"{one.machine}, {one.operation}: {one.why}." for one in self.costs if one.why)
        title = f"Costs on {self.processors} processors"
        return Part(title, [Table("", columns, rows, ["Virtual time; a size is that of one processor.", *reasons])])

    def figure(self) -> Figure:
        """Describe the figure: a panel for each operation, and a line for each machine."""
        operations = list(dict.fromkeys(one.operation for one in self.costs))
        panels = [self._panel(operation) for operation in operations]
        return Figure(
            "costs-of-machines",
            f"What the same operation costs on several machines, with {self.processors} processors",
            "Virtual time of one operation, by its size for one processor.",
            panels,
            columns=math.ceil(len(panels) / (1 if len(panels) < 3 else 2)),
            legend_at="below",
        )

    def _panel(self, operation: str) -> Panel:
        about = OPERATIONS[operation]
        if not about.sizes:
            names = self.machines
            series = [
                Series("", [one.seconds], [k], "bar", colour=_colour(k))
                for k, name in enumerate(names)
                for one in self.of(operation, name)
            ]
            return Panel(Axis("time", "s", "log"), Axis(names=names), series, about.title)
        lines = []
        for k, name in enumerate(self.machines):
            found = [one for one in self.of(operation, name) if not one.why]
            if found:
                x, y = [one.n for one in found], [one.seconds for one in found]
                lines.append(Series(name, x, y, colour=_colour(k), marker=k % 7, dash=_dash(k)))
        return Panel(Axis(about.size, scale="log"), Axis("time", "s", "log"), lines, about.title)

    def plot(self) -> Any:
        """Draw the figure.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; ``savefig`` writes it to a file.
        """
        from smp._output.drawing import draw  # imported late, like Matplotlib

        return draw(self.figure())

    def _repr_html_(self) -> str:
        return displayed([self.report()])

    def __str__(self) -> str:
        return terminal.report([self.report()], WIDTH).rstrip("\n")


@dataclass(frozen=True)
class Operation:
    """An operation that every machine is timed with.

    Attributes
    ----------
    title : str
        Name of the operation in a table.
    size : str
        Name of its size.
    seconds : callable
        Function of the machine and a size that returns the virtual time.
    sizes : bool
        True if the cost depends on a size.
    """

    title: str
    size: str
    seconds: Callable[[Machine, int], float]
    sizes: bool = True


def costs_of_machines(
    *machines: Given,
    processors: int = 4,
    operations: Iterable[str] = (),
    sizes: Sequence[int] = SIZES,
) -> MachineCosts:
    """Return what the same operations cost on several machines, in virtual time.

    Parameters
    ----------
    *machines : str, path_like or Profile
        Machine files, by their names or paths, and profiles of computers.
    processors : int
        Number of processors of every machine.
    operations : iterable of str
        Some of "barrier", "copy", "superstep", "ranking", "sorting"; by default all.
    sizes : sequence of int
        Words, nodes or keys of each processor.

    Returns
    -------
    MachineCosts

    Raises
    ------
    ValueError
        If there is no machine, or an operation or a size does not exist.
    SmpError
        If a machine file or a profile cannot be read, or a profile lacks a section from which a machine is made.

    Examples
    --------
    >>> found = costs_of_machines("cm5", "paragon", operations=["barrier", "copy"], sizes=[1, 1000])
    >>> found.machines
    ('cm5', 'paragon')
    >>> barriers = {one.machine: one.seconds for one in found.costs if one.operation == "barrier"}
    >>> barriers["cm5"] < barriers["paragon"]
    True
    """
    wanted = tuple(operations) or tuple(OPERATIONS)
    if not machines:
        raise ValueError("no machine was given: name some, such as 'cm5', or give profiles")
    for name in wanted:
        if name not in OPERATIONS:
            raise ValueError(f"no operation {name!r}: choose from {', '.join(OPERATIONS)}")
    if not sizes or min(sizes) < 1:
        raise ValueError(f"sizes must be numbers from 1 up, not {list(sizes)}")
    found = list[Cost]()
    for name, machine in _named(machines):
        with emulated(processors, machine=machine) as opened_machine:
            for operation in wanted:
                about = OPERATIONS[operation]
                for n in sorted(set(sizes)) if about.sizes else (0,):
                    found.append(_cost(name, operation, n, opened_machine))
    order = {name: k for k, name in enumerate(wanted)}
    return MachineCosts(processors, tuple(sorted(found, key=lambda one: order[one.operation])))


def _named(machines: Sequence[Given]) -> list[tuple[str, Any]]:
    """Return the machines with names that differ; profiles are read, and machine files are left to `emulated`."""
    made = list[tuple[str, Any]]()
    for given in machines:
        profile = isinstance(given, Profile) or str(given).endswith(".json") or os.path.isdir(given)
        if profile:
            machine: Any = opened(given)
            described = machine.data["machine"]
            name = described.get("name") or described.get("cpu") or "a computer"
        else:
            machine, name = given, os.path.basename(str(given)).removesuffix(".toml")
        same = sum(known == name or known.startswith(f"{name} (") for known, _ in made)
        made.append((f"{name} ({same + 1})" if same else name, machine))
    return made


def _cost(name: str, operation: str, n: int, machine: Machine) -> Cost:
    try:
        seconds = OPERATIONS[operation].seconds(machine, n)
    except ProcessorRaised as error:
        if not isinstance(error.__cause__, Unsupported):
            raise
        return Cost(name, operation, n, math.nan, "its processors share no memory, which the program needs")
    except Unsupported as error:
        return Cost(name, operation, n, math.nan, str(error))
    return Cost(name, operation, n, seconds)


def _lasted(machine: Machine, program: Callable[..., Any], *arguments: Any, **keywords: Any) -> float:
    """Return the virtual seconds of the shortest run on its slowest processor."""
    return min(float(np.max(machine.run(program, *arguments, **keywords).seconds)) for _ in range(REPEATS))


def _barrier(machine: Machine, n: int) -> float:
    def program(proc: Processor, many: int) -> None:
        for _ in range(many):
            proc.barrier()

    return (_lasted(machine, program, MANY + 1) - _lasted(machine, program, 1)) / MANY


def _superstep(machine: Machine, n: int, writes: bool = True) -> float:
    """Return the time of a superstep in which each processor reads n words of the next one, and may write as many."""

    def program(proc: Processor, words: GlobalArray, copies: GlobalArray, many: int) -> None:
        first, own = (proc.rank + 1) % proc.size * n, proc.rank * n
        for _ in range(many):
            with proc.superstep("cost") as step:
                copy = step.copy_in(words, slice(first, first + n))
                step.compute()
                if writes:
                    step.copy_out(copies, slice(own, own + n), copy)

    arrays = [machine.zeros(machine.size * n, np.int64) for _ in range(2)]
    return (_lasted(machine, program, *arrays, MANY + 1) - _lasted(machine, program, *arrays, 1)) / MANY


def _copy(machine: Machine, n: int) -> float:
    return _superstep(machine, n, writes=False)


def _ranking(machine: Machine, n: int) -> float:
    whole = n * machine.size
    order = np.random.default_rng(1).permutation(whole)
    successor = np.empty(whole, np.int32)
    successor[order[:-1]], successor[order[-1]] = order[1:], order[-1]
    ranks = machine.zeros(whole, np.int32)
    return _lasted(machine, LISTS["wyllie"].loaded(), machine.array(successor), ranks)


def _sorting(machine: Machine, n: int) -> float:
    keys = np.random.default_rng(1).integers(0, 2**31 - 1, n * machine.size, np.int32)
    return _lasted(machine, SORTS["sample"].loaded(), machine.array(keys))


OPERATIONS = {
    "barrier": Operation("barrier", "", _barrier, sizes=False),
    "copy": Operation("superstep, reads", "words read by each processor", _copy),
    "superstep": Operation("superstep, both", "words read, and words written", _superstep),
    "ranking": Operation("list ranking (Wyllie)", "nodes of each processor", _ranking),
    "sorting": Operation("sample sort", "keys of each processor", _sorting),
}
"""All operations, by name."""


def _cell(one: Cost) -> Cell:
    return None if one.why else one.seconds


def _colour(k: int) -> int:
    return k if k < COLOURS else BLACK


def _dash(k: int) -> Any:
    return ("solid", "dashed", "dotted")[min(k // COLOURS, 2)]
