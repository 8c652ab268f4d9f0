"""One microbenchmark: what it is called, and the modules of its folder.

rows.py      its record: what the probe writes, a profile keeps, and reports and plots read
probe.py     ``measure(plan, tick)`` measures it
facts.py     ``compared(record)`` says which of its figures another machine's are compared with, where it has some
report.py    ``tables(record, profile)`` shows it; ``line(record)`` sums it up for the first screen
plots.py     ``figures(record, samples)`` describes what is drawn of it, where there is something to draw

A folder's face makes its `Section` of names alone: the modules are imported when they are needed.
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
        Its folder, whose name is the section's.
    title : str
    seconds : tuple of float (3,)
        About how long it takes on two CPUs, by mode; for the progress bar, and for shares of a budget.
    record : str
        The class of its record in ``rows``, or in another module: ``module:class``.
    predicted : bool
        Whether it sets whole programs against the cost functions: ``measure`` is given the profile that has them.
    drawn : bool
        Whether it has figures.
    scaled : bool
        Whether it can be measured in less than its usual time, with fewer repeats; the others have a grid of sizes.
    """

    package: str
    title: str
    seconds: tuple[float, float, float]
    record: str
    predicted: bool = False
    drawn: bool = True
    scaled: bool = True

    @property
    def name(self) -> str:
        """What it is called in a profile."""
        return self.package.rpartition(".")[2]

    def part(self, module: str, name: str) -> Any:
        """Return what one of its modules holds, importing it; None where the folder has no such module."""
        whole = f"{self.package}.{module}"
        return getattr(importlib.import_module(whole), name) if importlib.util.find_spec(whole) else None

    def records(self) -> Any:
        """Return the class of its record; Pydantic, which it stands on, takes a while to import."""
        module, _, name = self.record.rpartition(":")
        return getattr(importlib.import_module(module), name) if module else self.part("rows", name)
