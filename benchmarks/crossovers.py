"""Compare the sizes at which the choice of a form changes with those at which it should change.

    python benchmarks/crossovers.py [sort] [programs] [lists] [stencil] [--calibration FILE] [--largest 1e6]
                                    [--at shape=0 ...]

A library chooses among its forms by models, which are those that are kept on this machine, or those of the file; see
`choices.py`.  The first input of its calibration is the size, and the others have the middle of their ranges, or the
values of --at:

    predicted    where the models' order of the two fastest forms changes, between sizes 15% apart
    measured     where the ratio of their times is 1, between sizes 1.4 times apart, within a factor of 8 of the former
    loss         the most that is lost between the two: how much slower the chosen form is than the other

Both forms are timed on the same data, in neighbouring rounds in random order; a ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from choices import SECTIONS, calibrate, chosen_libraries

from smp._runtime.host.looking import Looker
from smp.models.fit.inputs import parsed
from smp.selection.library import Library
from smp.selection.rounds import in_rounds, ratio
from smp.selection.trial import arguments_of

STEP, APART, WITHIN = 1.15, math.sqrt(2), 8.0
Place = dict[str, float]
Ratios = list[tuple[float, float]]
"""Sizes, and the time of the form before a change over that of the form after it."""


class Change(NamedTuple):
    """A change of the predicted choice over the size; ``ratios`` are the predicted ones around it."""

    before: str
    after: str
    ratios: Ratios


def sizes(low: float, high: float, step: float) -> list[int]:
    count = max(2, 1 + math.ceil(math.log(high / low) / math.log(step)))
    return sorted({round(size) for size in np.geomspace(low, high, count)})


def predicted_changes(library: Library, size: str, place: Place, low: float, high: float) -> Iterator[Change]:
    """Yield the changes of the fastest form, by the models."""
    last: tuple[int, dict[str, float]] | None = None
    for n in sizes(low, high, STEP):
        with arguments_of(library, {**place, size: n}) as arguments:
            found = library.predictions(*library.of(*arguments))
        seconds = {name: each.seconds for name, each in found.items() if 0 < each.seconds < math.inf}
        if last is not None and seconds and last[1]:
            before, after = (min(each, key=lambda name: each[name]) for each in (last[1], seconds))
            if before != after and after in last[1] and before in seconds:
                around = [(m, each[before] / each[after]) for m, each in (last, (n, seconds))]
                yield Change(before, after, [(float(m), value) for m, value in around])
            elif before != after:  # one of them does not apply on both sides: the change is where that begins
                yield Change(before, after, [(float(n), 1.0)])
        last = n, seconds


def measured(library: Library, change: Change, size: str, place: Place, around: list[int], looker: Looker) -> Ratios:
    """Time both forms at some sizes at which both apply."""
    rng, made = np.random.default_rng(1), Ratios()
    for n in around:
        with arguments_of(library, {**place, size: n}) as arguments:
            found = library.predictions(*library.of(*arguments))
            if not all(found[name].seconds < math.inf for name in (change.before, change.after)):
                continue
            calls: dict[str, Any] = {
                name: partial(library.implementations[name].function, *arguments, **found[name].keywords)
                for name in (change.before, change.after)
            }
            times = in_rounds(calls, change.before, rng, looker)
        made.append((float(n), ratio(times, change.before, change.after)))
    return made


def crossing(ratios: Ratios, near: float) -> float:
    """Return the size at which the ratio rises through 1, the one nearest to a size; NaN if there is none."""
    found = [
        math.exp(np.interp(0.0, [math.log(a), math.log(b)], [math.log(m), math.log(n)]))
        for (m, a), (n, b) in itertools.pairwise(ratios)
        if a <= 1 < b
    ]
    return min(found, key=lambda size: abs(math.log(size / near)), default=math.nan)


def loss(ratios: Ratios, predicted: float, true: float) -> float:
    """Return the most that is lost between two sizes, where the later form is chosen too early or too late."""
    low, high = sorted((predicted, true))
    slower = [1 / value if predicted < true else value for n, value in ratios if low <= n <= high]
    return max([1.0, *slower]) - 1


def compare(library: Library, largest: float, at: Place, looker: Looker) -> None:
    """Print a line for each change."""
    size, *others = parsed(library.loops or library.inputs)
    given = {each.name: at.get(each.name, each.grid[len(each.grid) // 2]) for each in others}
    place = {each.name: int(given[each.name]) if each.whole else given[each.name] for each in others}
    high = min(size.high, largest)
    text = ", ".join(f"{name} {value:.3g}" for name, value in place.items())
    print(f"{library.name}, {size.name} up to {high:,.0f}, {text}")
    changes = list(predicted_changes(library, size.name, place, size.low, high))
    for change in changes:
        predicted = crossing(change.ratios, 1.0) if len(change.ratios) > 1 else change.ratios[0][0]
        around = sizes(max(size.low, predicted / WITHIN), min(high, predicted * WITHIN), APART)
        ratios = measured(library, change, size.name, place, around, looker)
        true = crossing(ratios, predicted)
        line = f"  {change.before:>18} -> {change.after:<18}{predicted:>12,.0f}"
        if not math.isnan(true):
            line += f"{true:>12,.0f}{loss(ratios, predicted, true):>8.0%}"
        elif ratios:
            faster = change.after if all(value > 1 for _, value in ratios) else change.before
            line += f"    from {ratios[0][0]:,.0f} to {ratios[-1][0]:,.0f}: {faster}"
        print(line, flush=True)
    if not changes:
        print("  no change")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"some of {', '.join(SECTIONS)}; by default all")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="models to use, or to make")
    parser.add_argument("--largest", type=float, default=1e6, metavar="N", help="largest size (1e6)")
    parser.add_argument("--at", nargs="*", default=[], metavar="NAME=VALUE", help="values of the other inputs")
    given = parser.parse_args()
    at = {name: float(value) for name, _, value in (each.partition("=") for each in given.at)}
    if wrong := [name for name in given.sections if name not in SECTIONS]:
        sys.exit(f"unknown section {wrong[0]!r}: choose some of {', '.join(SECTIONS)}")
    libraries = [each for each in chosen_libraries(given.sections or [*SECTIONS]) if "processors" not in each.name]
    calibrate(libraries, given.calibration)
    looker = Looker()
    print(f"{'':<42}{'predicted':>12}{'measured':>12}{'loss':>8}")
    for library in libraries:
        compare(library, given.largest, at, looker)
    if looker.said():
        print(f"\n{looker.said()}")


if __name__ == "__main__":
    main()
