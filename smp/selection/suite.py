"""Suites: tasks that are not alternatives to one another, calibrated together.

    library    implementations of one interface        calibrated, so that a call chooses one of them
    suite      tasks of which each has its own inputs  calibrated in the same rounds, so that their models compare

A slow moment of the computer, or another placement of the CPUs, thus affects the tasks of a suite alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import ModelError
from ..models.fit.model import Model
from ..models.fit.specification import Specification

FORMAT, VERSION = "smp-suite", 1


class Suite:
    """Specifications that are calibrated together.

    Parameters
    ----------
    name : str
    specifications : iterable of Specification
        At least one; their names differ.

    Attributes
    ----------
    models : dict of name to Model
        Model of each task, by the specification's name without that of the suite in front, ``suite/``; empty until the
        suite is calibrated.

    Raises
    ------
    ModelError
        If there is no specification, or if two have the same name.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.selection.suite import Suite
    >>> ones, counts = (smp.Specification(f.__name__, {"n": "1e5..1e7 x 6"}, ["n"], f) for f in (np.ones, np.arange))
    >>> arrays = Suite("arrays", [ones, counts])
    >>> list(smp.calibrate(arrays, verification=5).models)
    ['ones', 'arange']
    """

    def __init__(self, name: str, specifications: Iterable[Specification]) -> None:
        given = list(specifications)
        self.name, self._specifications = name, {each.name: each for each in given}
        if not given or len(self._specifications) < len(given):
            names = ", ".join(each.name for each in given) or "none"
            raise ModelError(f"the suite {name} needs specifications with different names, not: {names}")
        self.models: dict[str, Model] = {}

    def __repr__(self) -> str:
        state = "calibrated" if self.models else "not calibrated"
        return f"<suite {self.name}: {len(self._specifications)} tasks; {state}>"

    def specifications(self) -> Iterator[Specification]:
        """Return the specifications to calibrate."""
        return iter(self._specifications.values())

    def use(self, models: Mapping[str, Model]) -> None:
        """Take the given models, one for each specification, whose names they have."""
        self.models = {name.removeprefix(f"{self.name}/"): models[name] for name in self._specifications}

    def to_json(self, samples: bool = False) -> dict[str, Any]:
        """Return the models as plain JSON, with or without the samples from which they were made."""
        models = {name: model.to_json(samples) for name, model in self.models.items()}
        return {"format": FORMAT, "version": VERSION, "name": self.name, "models": models}
