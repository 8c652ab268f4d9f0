"""Valid figures that are measured next to two busy processes lie within a factor of two of those of a quiet run."""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.load import busy_cpus

from smp._computer.activity import look
from smp.microbench.campaign import make_plan
from smp.microbench.sections import SECTIONS

OFF = 2.0
LEAST_NS = 1.0
"""Shortest page walks that are compared, in ns. Page walks are differences, which are close to zero in a cache."""
Rows = dict[tuple[Any, ...], tuple[float, bool]]
"""Figures by name, each with True if it is marked as valid."""


def latency(found: Any) -> Iterator[tuple[tuple[Any, ...], float, bool]]:
    for curve in ("random", "page_local", "huge", "stride", "page_walk"):
        for row in getattr(found, curve):
            yield (curve, row.bytes, getattr(row, "stride", 0)), row.ns, row.valid
    for level in found.levels:
        yield ("level", level.name), level.ns, found.valid


def bandwidth(found: Any) -> Iterator[tuple[tuple[Any, ...], float, bool]]:
    for row in found.stream:
        yield (row.kernel, row.processors), row.GBps, row.valid
    for row in found.loaded_latency:
        yield ("under load", row.loading_processors), row.ns, row.valid


def synchronisation(found: Any) -> Iterator[tuple[tuple[Any, ...], float, bool]]:
    for row in found.rows:
        yield (row.what, row.processors, *(row.cpus or ())), row.ns, row.valid


def instruction(found: Any) -> Iterator[tuple[tuple[Any, ...], float, bool]]:
    for row in found.rows:
        yield (row.what, row.streams, "a stream's"), row.clocks_mean, row.valid
        yield (row.what, row.streams, "the CPU's"), row.total_clocks, row.valid


SEEN = {each.__name__: each for each in (latency, bandwidth, synchronisation, instruction)}


def measured(name: str) -> tuple[Rows, float]:
    """Measure a section in the quick mode; return its rows, and the ns of a hand-over in the main state of two CPUs."""
    section = SECTIONS[name]
    made = section.part("probe", "measure")(make_plan("quick", (1, 2), 1), lambda done, text: None)
    found = section.records()(**made.data.to_json())
    states = (getattr(found, "placement", None) or {}).get("2")
    rows = {key: (figure, bool(valid)) for key, figure, valid in SEEN[name](found)}
    return rows, states[0].ns if states else math.nan


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_no_figure_that_is_marked_as_valid_is_off_by_a_factor_of_two(name: str) -> None:
    measured(name)  # compile
    quiet, here = measured(name)
    if busy := look()["busy"]:
        pytest.skip(f"there is no quiet run to compare with: {'; '.join(busy)}")
    with busy_cpus(2):
        time.sleep(0.5)
        loaded, there = measured(name)
    if not 1 / OFF < np.nan_to_num(there / here, nan=1.0) < OFF:
        pytest.skip(
            f"the host moved the CPUs: a line changed them in {here:.0f} ns, and beside the load in {there:.0f}"
        )
    both = {
        key: (figure, quiet[key][0])
        for key, (figure, valid) in loaded.items()
        if valid and key in quiet and quiet[key][1]
    }
    off = {key: pair for key, pair in both.items() if not 1 / OFF < pair[0] / pair[1] < OFF}
    assert not {key: pair for key, pair in off.items() if key[0] != "page_walk" or max(pair) > LEAST_NS}
