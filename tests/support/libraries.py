"""Libraries whose tasks return made-up times, and a calibration that was interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smp
from smp.models.fit.inputs import parsed
from smp.models.fit.model import Model
from smp.models.fit.records import Quality
from smp.models.fit.specification import Specification, expressions_of
from smp.selection.implementation import Implementation
from smp.selection.library import Library

Task = Callable[..., float]
CALLS: list[tuple[str, int]] = []


class Told:
    """Task that returns ``seconds(n)`` times the next of the factors, in turn for each n. It counts its calls."""

    def __init__(self, seconds: Task, factors: tuple[float, ...] = (1.0,)) -> None:
        self.seconds, self.factors, self.calls = seconds, factors, Counter[int]()

    def __call__(self, n: int, **_: Any) -> float:
        self.calls[n] += 1
        return self.seconds(n) * self.factors[(self.calls[n] - 1) % len(self.factors)]


def line(n: float) -> float:
    return 1e-6 + 1e-9 * n


def made_library() -> tuple[Library, dict[str, Told]]:
    """Return a library and its tasks. ``straight`` takes `line`, ``steep`` 10 ns an element: they cross at n = 111."""
    tasks = {"straight": Told(line), "steep": Told(lambda n: 10e-9 * n)}
    library = Library("two", {"n": "10..1e6 x 12"}, lambda n: (n,))
    library.add(*(Implementation(name, task, ["n"]) for name, task in tasks.items()))
    return library, tasks


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The file that a calibration of `made_library` leaves after Ctrl-C in the middle of its 102 timings."""
    library, _ = made_library()
    made = 0

    def ctrl_c(done: float, text: str) -> None:
        nonlocal made
        made += 1
        if made > 26:
            raise KeyboardInterrupt

    kept = tmp_path / "under-way.json"
    with pytest.raises(KeyboardInterrupt):
        smp.calibrate(library, verification=5, resume=kept, progress=ctrl_c)
    assert library.models == {}
    return kept


def made_up(name: str) -> Library:
    """Return a library with made-up times: ``first`` takes 1e-6 s plus n ns, ``second`` 10e-6 s plus n / 4 ns."""

    def first(n: int, width: int) -> float:
        CALLS.append((f"{name}/first", n))
        return 1e-6 + 1e-9 * n

    def second(n: int, width: int) -> float:
        CALLS.append((f"{name}/second", n))
        return 1e-5 + 2.5e-10 * n

    library = Library(name, {"n": "100..1e6 x 8", "width": "8, 32"}, lambda n, width: (n, width))
    library.add(Implementation("first", first, ["n"]), Implementation("second", second, ["n", "n * width"]))
    return library


QUALITY = Quality(count=30, verified=20, r_squared=1.0, mre_fit=0.01, mre=0.02, worst=0.05)


def model_of(specification: Specification, coefficients: dict[str, float]) -> Model:
    """Return a model of these terms, without noise."""
    names = tuple(specification.inputs)
    return Model(
        specification.name,
        parsed(specification.inputs),
        {text: expressions_of([text], names)[text] for text in coefficients},
        np.array(list(coefficients.values())),
        np.zeros((len(coefficients), len(coefficients))),
        residual=0.01,
        freedom=20,
        when=specification.when,
        quality=QUALITY,
    )


def use(library: Library, coefficients: dict[str, dict[str, float]]) -> Library:
    """Give a library made-up models."""
    made = {each.name.split("/")[1]: each for each in library.specifications()}
    library.use({each.name: model_of(each, coefficients[name]) for name, each in made.items()})
    return library
