"""Description of one microbenchmark: its name, its times, and the modules of its folder.

rows.py      its record, which the probe writes, a profile keeps, and reports and plots read
probe.py     ``measure(plan, tick)`` measures it
facts.py     optional: ``compared(found, samples)`` returns the figures to compare with those of another machine
report.py    ``tables(record, profile)`` yields its tables; ``line(record)`` sums it up for the first screen
plots.py     optional: ``figures(record, samples)`` describes its figures

The folder's ``__init__.py`` makes its `Section` from names alone: the modules are imported only when they are needed.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Section:
    """One microbenchmark.

    Parameters
    ----------
    package : str
        Package of its folder; the folder's name is the section's name.
    title : str
    seconds : tuple of float (3,)
        Approximate seconds that it takes on two CPUs, by mode; for the progress bar, and for shares of a budget.
    record : str
        Class of its record in ``rows``, or in another module: ``module:class``.
    predicted : bool
        True if it compares whole programs with the cost functions: ``measure`` is given the profile that has them.
    drawn : bool
        True if it has figures.
    machine : {"host", "mpi"}
        Kind of machine that it measures.
    scaled : bool
        True if fewer repeats can make it shorter than its usual time. The other sections have a fixed grid of sizes.
    """

    package: str
    title: str
    seconds: tuple[float, float, float]
    record: str
    predicted: bool = False
    drawn: bool = True
    scaled: bool = True
    machine: str = "host"

    @property
    def name(self) -> str:
        """Name of the section in a profile."""
        return self.package.rpartition(".")[2]

    def part(self, module: str, name: str) -> Any:
        """Import one of its modules and return an object from it; None if the folder has no such module."""
        whole = f"{self.package}.{module}"
        return getattr(importlib.import_module(whole), name) if importlib.util.find_spec(whole) else None

    def records(self) -> Any:
        """Return the class of its record; the import takes a while, as it needs Pydantic."""
        module, _, name = self.record.rpartition(":")
        return getattr(importlib.import_module(module), name) if module else self.part("rows", name)
