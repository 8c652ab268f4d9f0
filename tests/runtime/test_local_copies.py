"""Local copies use memory again once no array refers to it, and never before."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.machines import Machines

import smp
from smp._runtime.memory.local_copies import IDLE, LEAST, MOST, LocalCopies

N = LEAST // 8


def place(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


@pytest.fixture
def copies() -> LocalCopies:
    return LocalCopies()


def test_a_dropped_copy_makes_room_for_the_next(copies: LocalCopies) -> None:
    first = copies.of(np.ones(N))
    at = place(first)
    del first
    second = copies.of(np.full((2, N // 2), 7, np.int64))
    assert place(second) == at
    assert (second.shape, second.dtype) == ((2, N // 2), np.int64)
    assert (second == 7).all()
    assert all(second.flags[name] for name in ("WRITEABLE", "C_CONTIGUOUS", "ALIGNED"))


USES: dict[str, Callable[[NDArray[Any]], Any]] = {
    "the copy": lambda copy: copy,
    "a slice": lambda copy: copy[1:3],
    "a slice of a slice": lambda copy: copy[10:][::2][1:],
    "a transposed matrix": lambda copy: copy.reshape(2, -1).T,
    "another dtype": lambda copy: copy.view(np.uint8)[3:],
    "an array without the class": lambda copy: np.asarray(memoryview(copy)[5:]),
    "a buffer": lambda copy: memoryview(copy).cast("B"),
    "a pointer": lambda copy: copy.ctypes.data_as(ctypes.c_void_p),
    "a frame": lambda copy: (part for part in [copy]),
}


@pytest.mark.parametrize("use", USES)
def test_memory_in_use_is_not_given_out_again(copies: LocalCopies, use: str) -> None:
    copy = copies.of(np.ones(N))
    at, used = place(copy), USES[use](copy)
    del copy
    others = [copies.of(np.zeros(N)) for _ in range(3)]
    assert at not in map(place, others)
    assert len({*map(place, others)}) == 3
    del used
    assert place(copies.of(np.zeros(N))) == at


def test_a_copy_of_few_bytes_takes_no_large_memory(copies: LocalCopies) -> None:
    at = place(copies.of(np.ones(4 * N)))
    small, medium = copies.of(np.ones(N)), copies.of(np.ones(3 * N))
    assert place(small) != at == place(medium)


def test_copies_that_are_too_small_or_too_large_are_ordinary(copies: LocalCopies) -> None:
    large = np.broadcast_to(np.zeros(1, np.int8), MOST + 1)
    assert all(copies.of(part).flags.owndata for part in (np.ones(N - 1), large, np.ones(0)))


def test_no_more_memory_is_kept_than_a_bound(copies: LocalCopies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smp._runtime.memory.local_copies.MOST", 2 * LEAST)
    held = [copies.of(np.ones(N)) for _ in range(3)]
    assert [copy.flags.owndata for copy in held] == [False, False, True]


def test_memory_that_no_copy_needs_is_given_back(copies: LocalCopies) -> None:
    copies.of(np.ones(8 * N))
    for _ in range(IDLE + 2):
        copies.of(np.ones(N))
    assert [kept.nbytes for kept in copies._kept] == [LEAST]
    assert copies._bytes == LEAST
    copies.clear()
    assert not copies._kept


def test_supersteps_copy_into_the_same_memory(machines: Machines) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> tuple[set[int], bool]:
        places, mine = set(), proc.block(len(array))
        for number in range(4):
            with proc.superstep("add") as step:
                local = step.copy_in(array, mine)
                step.compute()
                places.add(place(local))
                step.copy_out(array, mine, local + 1)
            same = bool((local == number).all())
            del local
        return places, same

    with smp.host(2) as machine:
        array = machine.zeros(8 * N)
        results = machine.run(program, array).results
        assert all(len(places) == 1 and same for places, same in results)
        assert (array[:] == 4).all()


def test_copies_that_a_program_keeps_do_not_change(machines: Machines) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> list[float]:
        kept = []
        for _ in range(5):
            with proc.superstep("add") as step:
                local = step.copy_in(array)
                step.compute()
                kept.append(local[3:7])
                step.copy_out(array, proc.block(len(array)), local[proc.block(len(array))] + 1)
        return [float(part.sum()) for part in kept]

    machine = machines(2)
    assert machine.run(program, machine.zeros(2 * N)).results == [[0, 4, 8, 12, 16]] * 2
