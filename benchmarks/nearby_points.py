"""Show what a choice by models would gain from the residuals at measured points nearby.

    python benchmarks/nearby_points.py smp-report/calibration.json [OTHER/calibration.json]

The files are those that ``python -m smp.microbench --calibrate`` writes, with all timings.  At each point that the
second file kept apart from its fits (by default the first file's own), the models of the first file choose a form.  The
regret is its least time over that of the fastest form, less 1.  The predictions are taken as they are, and multiplied
by what the measured seconds of the first file's fitted points are over the predicted ones, as a mean of logarithms:

    nearest    of the 3 or 5 nearest points, with the inverse square of the distance as weight
    smooth     of all points, by kernel regression: a Gaussian of half the width of a range, and a ridge of 0.3

Distances are between the logarithms of the inputs, each divided by its range.  All forms of a library are corrected in
the same way, so that a slow moment at a point, which all of them have in common, cancels in the comparison.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp.models.fit.model import Model

Numbers = NDArray[np.float64]
Correction = Callable[[Numbers], float]
WIDTH, RIDGE = 0.5, 0.3
SMALLEST = 1e-3
"""Inputs below this count as this much, because 0 has no logarithm."""
FEWEST = 8
"""Points below which a form is not corrected."""


class Form(NamedTuple):
    """One form of a library: its model, its points (n, k), its least seconds there, and which were kept apart."""

    model: Model
    points: Numbers
    seconds: Numbers
    apart: NDArray[np.bool_]


class Outcome(NamedTuple):
    """The regrets of one library, and the errors of all predictions, as logarithms."""

    regrets: list[float]
    errors: list[float]


def forms_of(library: dict[str, Any]) -> dict[str, Form]:
    """Return the forms of a library that depend on its inputs alone, not on a parameter."""
    made = {}
    for name, data in library["models"].items():
        samples = data["samples"]
        points = np.array(list(samples["inputs"].values()), float).T
        least = np.array([min(timings) for timings in samples["raw"]])
        made[name] = Form(Model.from_json(data), points, least, np.array(samples["verification"], bool))
    fewest = min(form.points.shape[1] for form in made.values())
    return {name: form for name, form in made.items() if form.points.shape[1] == fewest}


def as_it_is(places: Numbers, logs: Numbers) -> Correction:
    return lambda place: 0.0


def nearest(count: int, places: Numbers, logs: Numbers) -> Correction:
    def corrected(place: Numbers) -> float:
        far = np.sqrt(((places - place) ** 2).sum(1))
        some = np.argsort(far)[:count]
        return float(np.average(logs[some], weights=1 / (far[some] + 0.05) ** 2))

    return corrected


def smooth(places: Numbers, logs: Numbers) -> Correction:
    def near(one: Numbers, other: Numbers) -> Numbers:
        return np.asarray(np.exp(-((one - other) ** 2).sum(-1) / (2 * WIDTH**2)))

    weights = np.linalg.solve(near(places[:, None], places[None]) + RIDGE * np.eye(len(logs)), logs)
    return lambda place: float(near(places, place) @ weights)


METHODS: dict[str, Callable[[Numbers, Numbers], Correction]] = {
    "as it is": as_it_is,
    "3 nearest": partial(nearest, 3),
    "5 nearest": partial(nearest, 5),
    "smooth": smooth,
}


def outcome(fitted: dict[str, Form], tried: dict[str, Form], method: Callable[..., Correction]) -> Outcome:
    """Choose at the points that were kept apart in ``tried``, by the models of ``fitted``."""
    every = np.log(np.maximum(SMALLEST, np.concatenate([form.points for form in fitted.values()])))
    low, width = every.min(0), np.maximum(np.ptp(every, axis=0), 1e-9)

    def placed(points: Numbers) -> Numbers:
        return np.asarray((np.log(np.maximum(SMALLEST, points)) - low) / width)

    corrections = {}
    for name, form in fitted.items():
        predicted = np.array([form.model.predict(*point) for point in form.points])
        some = ~form.apart & (predicted > form.model.least)
        logs = np.log(form.seconds[some] / predicted[some])
        corrections[name] = (as_it_is if some.sum() < FEWEST else method)(placed(form.points[some]), logs)
    times: dict[tuple[float, ...], dict[str, float]] = {}
    for name, form in tried.items():
        for point, seconds in zip(form.points[form.apart], form.seconds[form.apart], strict=True):
            times.setdefault(tuple(point), {})[name] = seconds
    found = Outcome([], [])
    for point, seconds_of in times.items():
        predictions = {}
        for name, seconds in seconds_of.items():
            expected = fitted[name].model.predict(*point)
            if expected > fitted[name].model.least:
                predictions[name] = expected * math.exp(corrections[name](placed(np.array(point))))
                found.errors.append(abs(math.log(predictions[name] / seconds)))
        if len(seconds_of) > 1 and predictions:
            chosen = min(predictions, key=lambda name: predictions[name])
            found.regrets.append(seconds_of[chosen] / min(seconds_of.values()) - 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("fitted", type=Path, help="calibration.json with the models")
    parser.add_argument("tried", type=Path, nargs="?", help="calibration.json with the points to choose at")
    given = parser.parse_args()
    fitted = json.loads(given.fitted.read_text())["libraries"]
    tried = json.loads((given.tried or given.fitted).read_text())["libraries"]
    names = [name for name in fitted if name in tried and set(fitted[name]["models"]) == set(tried[name]["models"])]
    every: dict[str, list[Outcome]] = {method: [] for method in METHODS}
    print(f"{'mean regret (worst)':<40}{'points':>8}" + "".join(f"{method:>18}" for method in METHODS))
    for name in names:
        forms, others = forms_of(fitted[name]), forms_of(tried[name])
        found = {method: outcome(forms, others, function) for method, function in METHODS.items()}
        if not found["as it is"].regrets:
            continue
        for method, each in found.items():
            every[method].append(each)
        cells = [f"{np.mean(each.regrets):.1%} ({max(each.regrets):.0%})" for each in found.values()]
        print(f"{name:<40}{len(found['as it is'].regrets):>8}" + "".join(f"{cell:>18}" for cell in cells))
    means = [f"{np.mean([np.mean(each.regrets) for each in all_]):.2%}" for all_ in every.values()]
    errors = [
        f"{math.expm1(np.mean([error for each in all_ for error in each.errors])):.1%}" for all_ in every.values()
    ]
    print(f"{'mean of the libraries':<48}" + "".join(f"{each:>18}" for each in means))
    print(f"{'error of the predictions (MRE)':<48}" + "".join(f"{each:>18}" for each in errors))


if __name__ == "__main__":
    main()
