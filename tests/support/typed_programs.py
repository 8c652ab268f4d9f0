"""Right and wrong programs for a type checker.

Each line with an error ends in a comment that ignores it; the other lines have none.  The file is never run:
`scripts/check` checks it, and finds an error where a comment is missing, or ignores nothing.
"""

from functools import partial
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import smp


def mean(proc: smp.Processor, array: smp.GlobalArray[np.float64], first: int, last: int = 10) -> float:
    with proc.superstep("read") as step:
        mine = step.copy_in(array, slice(first, last))
        assert_type(mine, NDArray[np.float64])
        step.compute()
        step.copy_out(array, 0, mine[0])
    return float(mine.mean())


def named(proc: smp.Processor, first: int, *, scale: float) -> str:
    return f"{proc.rank}: {first * scale}"


def several(proc: smp.Processor, *numbers: int) -> int:
    return sum(numbers)


def drawn(proc: smp.Processor, seed: int = 0) -> int:
    return seed


def untyped(proc, first):  # type: ignore[no-untyped-def]
    return first


def without_a_processor(first: int) -> int:
    return first


def keys(proc: smp.Processor, array: smp.GlobalArray[np.integer[Any]]) -> None:
    assert_type(array.view, NDArray[np.integer[Any]])


def made(proc: smp.Processor) -> smp.GlobalArray[np.int32]:
    array = proc.zeros(3, np.int32)
    assert_type(proc.full(3, np.float32(1)), smp.GlobalArray[np.float32])
    assert_type(proc.array(np.zeros(3)), smp.GlobalArray[np.float64])
    assert_type(proc.node_block(array)[1], NDArray[np.int32])
    return array


def right(machine: smp.Machine, floats: smp.GlobalArray[np.float64], numbers: list[int]) -> None:
    assert_type(machine.run(mean, floats, 1).results, list[float])
    assert_type(machine.run(mean, floats, 1, 2).results, list[float])
    assert_type(machine.run(mean, floats, first=1, last=2).results, list[float])
    assert_type(machine.run(mean, floats, 1, timeout=3.0, repeat=2).results, list[float])
    assert_type(machine.run(mean, floats, 1, 2, streams=2, logging={"barrier"}).results, list[float])
    assert_type(machine.run(named, 1, scale=2).results, list[str])
    assert_type(machine.run(partial(named, scale=2), 1, record=True).results, list[str])
    assert_type(machine.run(several, 1, 2, 3).results, list[int])
    assert_type(machine.run(several, *numbers, warmup=1).results, list[int])
    assert_type(machine.run(drawn).results, list[int])
    assert_type(machine.run(drawn, seed=5).results, list[int])
    assert_type(machine.run(untyped, 1).results, list[Any])
    assert_type(machine.run(lambda proc: proc.rank).results, list[int])
    assert_type(machine.run(lambda proc, x: x * proc.size, 3, timeout=1).results, list[int])
    assert_type(machine.run(made), smp.Run[smp.GlobalArray[np.int32]])
    machine.run(keys, machine.zeros(4, np.int32))


def right_in_one_call(data: NDArray[np.float64], items: list[str]) -> None:
    assert_type(smp.run(several, 2, 1, 2).results, list[int])
    assert_type(smp.run(several).results, list[int])
    assert_type(smp.run(several, processors=2, timeout=5).results, list[int])
    assert_type(smp.run(several, None, 1, timeout=5), smp.Run[int])
    assert_type(smp.run(named, 2, 1, scale=2).results, list[str])
    assert_type(smp.map(len, items), list[int])
    assert_type(smp.map(lambda n: n / 2, range(5), 2), list[float])


def kinds() -> None:
    with smp.host(2) as host, smp.emulated(2) as emulated, smp.mpi(2) as mpi:
        for machine in (host, emulated, mpi):
            assert_type(machine.run(several, 1, timeout=5), smp.Run[int])


def arrays(machine: smp.Machine, data: NDArray[np.uint8], bare: smp.GlobalArray, run: smp.Run) -> None:
    assert_type(machine.zeros((2, 3)), smp.GlobalArray[np.float64])
    assert_type(machine.empty(3, np.int64).view, NDArray[np.int64])
    assert_type(machine.zeros(3, np.dtype(np.int32)).dtype, np.dtype[np.int32])
    assert_type(machine.array(data)[1:], NDArray[np.uint8])
    assert_type(machine.array([1, 2]), smp.GlobalArray[Any])
    assert_type(machine.zeros(3, "f4"), smp.GlobalArray[Any])
    assert_type(machine.full(3, 1, np.int16), smp.GlobalArray[np.int16])
    assert_type(bare.view, NDArray[Any])
    assert_type(run.results, list[Any])


def wrong(machine: smp.Machine, floats: smp.GlobalArray[np.float64], numbers: smp.GlobalArray[np.int64]) -> None:
    machine.run(mean)  # type: ignore
    machine.run(mean, floats)  # type: ignore
    machine.run(mean, floats, "1")  # type: ignore
    machine.run(mean, numbers, 1)  # type: ignore
    machine.run(mean, floats, 1, 2, 3)  # type: ignore
    machine.run(mean, floats, 1, middle=2)  # type: ignore
    machine.run(named, 1)  # type: ignore
    machine.run(named, 1, scale="2")  # type: ignore
    machine.run(untyped)  # type: ignore
    machine.run(lambda proc, x: x)  # type: ignore
    machine.run(lambda proc: proc.ranks)  # type: ignore
    machine.run(without_a_processor, 1)  # type: ignore
    machine.run(mean(floats, 1))  # type: ignore
    machine.run(mean, floats, 1, timeout="3")  # type: ignore
    machine.run(mean, floats, timeout=3)  # type: ignore
    machine.run(mean, floats, "1", timeout=3)  # type: ignore
    machine.run(mean, floats, 1, timout=3)  # type: ignore
    machine.run(several, 1, "2", repeat=3)  # type: ignore
    machine.run(named, 1, scale=2, record=True)  # type: ignore
    machine.run(drawn, 1, retries=4)  # type: ignore
    smp.run(several, 2, "1")  # type: ignore
    smp.run(named, 2)  # type: ignore
    smp.run(several, [1])  # type: ignore
    smp.run(several, 2, 1, timout=5)  # type: ignore
    smp.map(len, [1, 2])  # type: ignore
    smp.map(["a"], len)  # type: ignore
    keep: list[str] = machine.run(several, 1).results  # type: ignore
    keep.clear()
    view: NDArray[np.int32] = floats.view  # type: ignore
    view.sort()
