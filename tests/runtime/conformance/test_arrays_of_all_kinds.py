"""Global arrays on all kinds of machines: made by the parent or by processors, returned, and sent again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import CollectiveMismatch

Machines = Callable[[int], smp.Machine]


def test_the_parent_makes_reads_and_writes_arrays(machines: Machines) -> None:
    machine, values = machines(3), np.arange(24, dtype=np.int16).reshape(4, 6)
    array = machine.array(values)
    assert (array.shape, array.dtype, array.size, array.ndim, array.nbytes, len(array)) == (
        (4, 6), np.int16, 24, 2, 48, 4,
    )  # fmt: skip
    np.testing.assert_array_equal(array[:], values)
    np.testing.assert_array_equal(np.asarray(array), values)
    assert array[1, -1] == 11
    array[2:, ::2] = 7
    values[2:, ::2] = 7
    array[0] = np.arange(6)
    np.testing.assert_array_equal(array[values > 5], values[values > 5])
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        array[4]
    assert machine.zeros(3).dtype == np.float64
    assert machine.full((2, 2), 3)[:].tolist() == [[3, 3], [3, 3]]
    assert machine.empty((0, 4))[:].shape == (0, 4)
    with pytest.raises(TypeError, match="has no length"):
        len(machine.zeros(()))


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_processors_make_arrays_and_the_parent_gets_them(machines: Machines, processors: int) -> None:
    machine, values = machines(processors), np.arange(21).reshape(7, 3)

    def program(proc: smp.Processor, values: Any) -> Any:
        full = proc.full((3, 2), [1.5, 2.5])
        copied, empty, scalar = proc.array(values), proc.zeros((0, 2)), proc.full((), 4)
        with proc.superstep() as step:
            seen = step.copy_in(full, 1).tolist(), step.copy_in(copied, -1).tolist(), step.copy_in(scalar).tolist()
            step.compute()
            step.copy_out(copied, (slice(proc.rank, None, proc.size), 0), 100 + proc.rank)
        return seen, (full, copied, empty, scalar)

    run = machine.run(program, values)
    assert [seen for seen, _ in run.results] == [([1.5, 2.5], [18, 19, 20], 4)] * processors
    for _, (full, copied, empty, scalar) in run.results:
        assert full[:].tolist() == [[1.5, 2.5]] * 3
        assert copied[:, 0].tolist() == [100 + row % processors for row in range(7)]
        np.testing.assert_array_equal(copied[:, 1:], values[:, 1:])
        assert empty.shape == (0, 2)
        assert scalar[()] == 4
    copied[0, 0] = -1
    assert machine.run(transferred, copied).results == [-1] * processors


def transferred(proc: smp.Processor, array: smp.GlobalArray) -> int:
    with proc.superstep() as step:
        return int(step.copy_in(array, (0, 0)))


def test_all_processors_must_make_the_same_array(machines: Machines) -> None:
    machine = machines(2)
    with pytest.raises(CollectiveMismatch) as caught:
        machine.run(lambda proc: proc.zeros(4 + proc.rank))
    lines = str(caught.value).splitlines()[1:3]
    assert any(f"processor {rank}: allocation of float64[{4 + rank}] at {__file__}" in lines[rank] for rank in (0, 1))
    assert all(f"at {__file__}" in line for line in lines)


def test_shape_and_dtype_are_known_without_elements() -> None:
    array = smp.GlobalArray(None, (10**6, 10**6), np.dtype(np.float32))  # type: ignore[arg-type]
    assert (array.size, array.ndim, array.nbytes, len(array)) == (10**12, 2, 4 * 10**12, 10**6)
    assert array.stand_in()[5:, -1].shape == (999_995,)
    with pytest.raises(IndexError, match="index 1000000 is out of bounds for axis 1"):
        array.stand_in()[0, 10**6]
