"""Arrays that a program captures are read-only copies on the processors of all kinds of machines."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import ProcessorRaised

Machines = Callable[[int], smp.Machine]
HINT = r"read-only; a program has a read-only copy .*machine\.array"


def writers(array: Any) -> dict[str, Callable[..., Any]]:
    """Return programs that write to an array that they have captured in some way."""
    pair, table, slot = [array, 3], {"a": (array,)}, slice(0, 1)

    def closure(proc: smp.Processor) -> None:
        array[slot] = 1

    def inner(proc: smp.Processor) -> None:
        def write() -> None:
            array[slot] += 1

        write()

    def helper(proc: smp.Processor) -> None:
        closure(proc)

    def by_list(proc: smp.Processor) -> None:
        pair[0][slot] = 1

    def by_dict(proc: smp.Processor) -> None:
        table["a"][0].fill(1)

    def given(proc: smp.Processor, more: int) -> None:
        array.sort()

    return {
        "closure": closure,
        "inner": inner,
        "helper": helper,
        "list": by_list,
        "dict": by_dict,
        "partial": functools.partial(given, more=1),
    }


@pytest.mark.parametrize("how", writers(None))
@pytest.mark.parametrize("options", [{}, {"warmup": 1}])
def test_writes_to_captured_arrays_are_errors_with_a_hint(machines: Machines, how: str, options: Any) -> None:
    array = np.arange(3)[::-1].copy()
    with pytest.raises(ProcessorRaised, match=HINT):
        machines(2).run(writers(array)[how], **options)
    array[0] = 5  # the parent's own array can be written to, as before


def test_captured_arrays_can_be_read_and_arguments_written(machines: Machines) -> None:
    array, unset = np.arange(3.0), None

    def program(proc: smp.Processor, scratch: Any) -> float:
        scratch += array
        mine = array.copy()
        mine[0] = 7
        return float(scratch.sum() + mine[0]) if unset is None else 0.0

    assert machines(2).run(program, np.ones(3)).results == [13.0, 13.0]


def test_a_recursive_function_is_no_problem(machines: Machines) -> None:
    def depth(k: int) -> int:
        return 0 if k == 0 else 1 + depth(k - 1)

    assert machines(2).run(lambda proc: depth(3)).results == [3, 3]


def test_other_read_only_errors_keep_their_text(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        raise ValueError("the sum is odd")

    with pytest.raises(ProcessorRaised, match=r"ValueError: the sum is odd at "):
        machines(2).run(program)
