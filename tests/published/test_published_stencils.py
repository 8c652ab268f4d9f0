"""The stencils of Brewer's thesis: the table of their operations takes the virtual time of the program itself."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp import machines

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from published.models.stencil import Stencils, allowed, stencil
from published.models.timetable import COMPUTE, SEND, WAIT, WIDTH, run

from smp._runtime.emulated.message_machine.software import Software

NAMES = ("cm5", "alewife", "paragon", "atm")


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    processors=st.sampled_from([2, 4, 6, 9, 16]),
    width=st.integers(8, 120),
    height=st.integers(8, 120),
    layout=st.sampled_from(["uniprocessor", "square", "strips"]),
    extra=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_the_table_takes_the_time_of_the_program(
    name: str, processors: int, width: int, height: int, layout: str, extra: tuple[int, int]
) -> None:
    if not allowed(layout, width, height, processors) or layout != "square":
        extra = 0, 0
    if not allowed(layout, width, height, processors):
        layout = "uniprocessor"
    file = machines.load(name)
    with smp.emulated(processors, machine=file, fidelity="latency") as machine:
        times = machine.run(stencil, width, height, layout, 2, extra).results
    found = Stencils(file, processors, 120).seconds(width, height, layout, 2, extra)
    assert found == pytest.approx(max(times), abs=1e-12)  # a picosecond


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_table_takes_the_time_of_the_program_on_64_processors(name: str) -> None:
    file, rng = machines.load(name), np.random.default_rng(5)
    times = Stencils(file, 64)
    with smp.emulated(64, machine=file, fidelity="latency") as machine:
        for _ in range(12):
            width, height = (int(side) for side in np.exp(rng.uniform(math.log(16), math.log(900), 2)))
            for layout in ("square", "strips"):
                if allowed(layout, width, height, 64):
                    program = max(machine.run(stencil, width, height, layout, 3).results)
                    assert times.seconds(width, height, layout, 3) == pytest.approx(program, abs=1e-12)


def operations(*ones: tuple[int, ...]) -> np.ndarray:
    table = np.zeros((len(ones), WIDTH), np.int64)
    for row, one in zip(table, ones, strict=True):
        row[: len(one)] = one
    return table


def test_a_message_interrupts_a_computation_or_waits_for_a_poll() -> None:
    """Processor 0 computes for 1000 ps; the message is sent after 100, takes 50 on its way and 30 to receive."""
    table = operations((COMPUTE, 1000), (WAIT, 1), (SEND, 0, 100, 0, 50, 30))
    starts = np.array([0, 2, 3])
    interrupted = Software.of(machines.load("alewife").replace("message.poll_empty", 0))
    polled = Software.of(machines.load("cm5"))
    assert run(table, starts, interrupted).tolist() == [1030, 100]
    assert run(table, starts, polled).tolist() == [1000 + polled.poll + 30, 100]


def test_a_message_that_never_comes_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no other one sends"):
        run(operations((WAIT, 1)), np.array([0, 1]), Software.of(machines.load("cm5")))


def test_layouts_need_two_rows_and_columns_in_a_block() -> None:
    """Brewer's thesis, figure 4-9: strips from a width of 128, square blocks from 16 in both directions."""
    assert allowed("strips", 128, 1, 64)
    assert not allowed("strips", 127, 1000, 64)
    assert allowed("square", 16, 16, 64)
    assert not allowed("square", 15, 16, 64)
    assert not allowed("square", 16, 15, 64)
    assert allowed("uniprocessor", 1, 1, 64)
