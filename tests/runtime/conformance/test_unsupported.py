"""Operations that need shared memory are refused, with an alternative, on machines that have none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp._runtime.protocols.wait import PRIVATE_WORDS
from smp.errors import ProcessorRaised, Unsupported


def by_a_loop(how: str) -> Callable[..., Any]:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            if how == "copy_in_by":
                step.copy_in_by(np.size, array)
            step.compute()
            if how == "copy_out_by":
                step.copy_out_by(np.size, array)

    return program


ON_PROCESSORS: dict[str, tuple[Callable[..., Any], str]] = {
    "cells": (lambda proc, array: proc.cells(3), r"^cells needs memory .* with supersteps or collectives"),
    "streams": (lambda proc, array: proc.streams(2), "a pool of streams needs memory .* a processor for each stream"),
    "team": (lambda proc, array: proc.team, "a pool of streams needs memory .* a processor for each stream"),
    "sync": (lambda proc, array: proc.sync, r"proc.sync needs memory .* proc.barrier\(\)"),
    "net": (lambda proc, array: proc.net, "proc.net needs memory .* proc.send, outside compiled loops"),
    "view": (lambda proc, array: array.view, "array.view needs memory .* step.copy_in"),
    "copy_in_by": (by_a_loop("copy_in_by"), "a loop on global arrays needs memory .* local array of step.copy_in"),
    "copy_out_by": (by_a_loop("copy_out_by"), "a loop on global arrays needs memory .* with step.copy_out"),
}


@pytest.mark.parametrize("what", ON_PROCESSORS)
def test_operations_that_need_shared_memory_are_refused_on_a_processor(messages: smp.Machine, what: str) -> None:
    program, text = ON_PROCESSORS[what]
    with pytest.raises(ProcessorRaised) as caught:
        messages.run(program, messages.zeros(4))
    assert isinstance(caught.value.__cause__, Unsupported)
    with pytest.raises(Unsupported, match=text + r".*, or open smp.host\(\) or smp.emulated\(\)"):
        raise caught.value.__cause__


IN_THE_PARENT: dict[str, tuple[Callable[[smp.Machine], Any], str]] = {
    "cells": (lambda machine: machine.cells(3), "^cells needs memory .* with supersteps or collectives, or open"),
    "view": (
        lambda machine: machine.zeros(3).view,
        r"array.view needs memory .* with array\[index\] in the parent, or",
    ),
    "trace": (lambda machine: machine.trace, r"smp.emulated\(\.\.\., trace=True\) keeps one"),
}


@pytest.mark.parametrize("what", IN_THE_PARENT)
def test_operations_that_need_shared_memory_are_refused_in_the_parent(messages: smp.Machine, what: str) -> None:
    do, text = IN_THE_PARENT[what]
    with pytest.raises(Unsupported, match=text):
        do(messages)


def test_counters_can_be_read_without_shared_memory(messages: smp.Machine) -> None:
    assert messages.run(lambda proc: len(proc.counters())).results == [0, 0]


@pytest.mark.parametrize("opened", [smp.host, smp.emulated])
def test_all_these_operations_work_on_machines_with_shared_memory(opened: Callable[[int], smp.Machine]) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> Any:
        cells = proc.cells(3, full=True)
        with proc.superstep() as step:
            read = step.copy_in_by(np.size, array)
            step.compute()
            step.copy_out_by(np.size, array)
        assert proc.flag(False)
        return len(cells), read, len(proc.sync), proc.streams(2).streams, proc.team.streams, array.view.tolist()

    with opened(2) as machine:
        assert machine.run(program, machine.full(4, 1.5)).results == [(3, 4, PRIVATE_WORDS, 2, 1, [1.5] * 4)] * 2
        assert len(machine.cells(5)) == 5
