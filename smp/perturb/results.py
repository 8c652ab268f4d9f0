"""Results of an experiment as the command shows and saves them, for trials of one design and for ladders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .._output.figure import Figure
from .._output.table import Table
from .analysis import figures
from .analysis.report import UNITS, constant, sections, shares
from .experiments.climbing import FORMAT as LADDER
from .experiments.climbing import Climb
from .experiments.trials import Trials
from .files.saved import read


class Result(Protocol):
    """An experiment that was run. Its methods, except `save`, take the names of the responses to include."""

    @property
    def file(self) -> str:
        """Name of the file that holds the experiment."""

    @property
    def trials(self) -> Trials:
        """All trials of the experiment."""

    def save(self, folder: Path) -> None: ...
    def report(self, names: Sequence[str]) -> list[Table]:
        """Return the tables of the report."""

    def document(self, names: Sequence[str]) -> dict[str, Any]:
        """Return plain JSON of the whole experiment."""

    def analyses(self, names: Sequence[str]) -> dict[str, Any]:
        """Return plain JSON for separate files, by file name without its suffix."""

    def figures(self, names: Sequence[str]) -> list[Figure]: ...


@dataclass(frozen=True)
class Screened:
    """Results of the trials of one design, or of an array."""

    trials: Trials
    file = "trials.json"

    def save(self, folder: Path) -> None:
        self.trials.save(folder / self.file)

    def report(self, names: Sequence[str]) -> list[Table]:
        return list(sections(self.trials, names))

    def document(self, names: Sequence[str]) -> dict[str, Any]:
        found = {name: self.trials.analyse(name).to_json() for name in self._effects(names)}
        return {
            "trials": self.trials.to_json(),
            "places": shares(self.trials.met, self.trials.counting),
            "analyses": found,
        }

    def analyses(self, names: Sequence[str]) -> dict[str, Any]:
        return {f"effects-{name}": self.trials.analyse(name).to_json() for name in self._effects(names)}

    def figures(self, names: Sequence[str]) -> list[Figure]:
        varying = [name for name in self._effects(names) if not self.trials.constant(name)]
        return [make(self.trials.analyse(name)) for name in varying for make in (figures.half_normal, figures.effects)]

    def _effects(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names of the responses that have effects: all for a design, none for an array."""
        return () if self.trials.plan.design is None else names


@dataclass(frozen=True)
class Climbed:
    """Results of a ladder."""

    climb: Climb
    file = "ladder.json"

    @property
    def trials(self) -> Trials:
        return self.climb.trials

    def save(self, folder: Path) -> None:
        self.climb.save(folder / self.file)

    def report(self, names: Sequence[str]) -> list[Table]:
        tables = [
            constant(self.trials, name) if self.trials.constant(name) else replace(self.climb.table(name), title=name)
            for name in names
        ]
        return [Table(notes=str(self.climb).splitlines()), *tables]

    def document(self, names: Sequence[str]) -> dict[str, Any]:
        return self.climb.to_json()

    def analyses(self, names: Sequence[str]) -> dict[str, Any]:
        return {}

    def figures(self, names: Sequence[str]) -> list[Figure]:
        varying = [name for name in names if not self.trials.constant(name)]
        files = {name: "ladder" if name == "time" else f"ladder-{name}" for name in varying}
        return [figures.ladders(self.climb.ladders(name), UNITS.get(name, ""), id=files[name]) for name in varying]


def loaded(file: Path) -> Result:
    """Read saved trials or a saved ladder.

    Raises
    ------
    ExperimentError
        If the file is missing, or holds something else.
    """
    data = read(file)
    if isinstance(data, dict) and data.get("format") == LADDER:
        return Climbed(Climb.found(data, file))
    return Screened(Trials.found(data, file))
