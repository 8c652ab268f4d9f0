"""Relaxation by blocks between neighbours: the same cells as by supersteps, on every machine and in every layout."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.kernels.grids.by_blocks import neighbours, relax_by_blocks
from smp.kernels.grids.layouts import rectangles
from smp.kernels.grids.programs import relax_red_black


def relaxed(program: Any, grid: Any, p: int, machine: str | None = None, **how: Any) -> tuple[Any, Any]:
    made = (
        smp.emulated(p, schedule="clock") if machine is None else smp.emulated(p, machine=machine, fidelity="latency")
    )
    with made as opened:
        shared = opened.array(grid)
        results = opened.run(program, shared, **how).results
        assert all(result == results[0] for result in results)
        return shared.view.copy(), results[0]


@settings(max_examples=10, deadline=None)
@given(
    rows=st.integers(3, 20),
    columns=st.integers(3, 20),
    p=st.integers(1, 9),
    layout=st.sampled_from(["square", "vertical", "horizontal", "uniprocessor"]),
    machine=st.sampled_from([None, "cm5", "alewife"]),
    seed=st.integers(0, 99),
)
def test_cells_are_those_of_supersteps(
    rows: int, columns: int, p: int, layout: str, machine: str | None, seed: int
) -> None:
    grid = np.random.default_rng(seed).random((rows, columns))
    ours, result = relaxed(relax_by_blocks, grid, p, machine, layout=layout, iterations=4)
    theirs, expected = relaxed(relax_red_black, grid, p, layout=layout, iterations=4)
    assert np.array_equal(ours, theirs)
    assert result == expected


def test_both_stop_at_the_same_change() -> None:
    grid = np.zeros((18, 18))
    grid[0] = 1
    for every in (1, 8):
        ours, (iterations, change) = relaxed(relax_by_blocks, grid, 4, tolerance=1e-6, every=every)
        assert change < 1e-6
        assert iterations % every == 0
        assert np.array_equal(ours, relaxed(relax_red_black, grid, 4, iterations=iterations)[0])


def test_a_host_relaxes_by_blocks_too() -> None:
    grid = np.random.default_rng(1).random((40, 30))
    with smp.host(2) as machine:
        shared = machine.array(grid)
        machine.run(relax_by_blocks, shared, layout="vertical", iterations=6)
        assert np.array_equal(shared.view, relaxed(relax_red_black, grid, 2, iterations=6)[0])


def test_inner_processors_send_eight_blocks_in_an_iteration() -> None:
    def sent(iterations: int) -> int:
        with smp.emulated(9, machine="cm5", fidelity="latency") as machine:
            grid = machine.zeros((20, 20), np.float64)
            exchanged = machine.run(counting, grid, iterations).results[4]
        return int(exchanged)

    def counting(proc: smp.Processor, grid: Any, iterations: int) -> int:
        count, send = 0, proc.send_block

        def counted(*args: Any) -> None:
            nonlocal count
            count += 1
            send(*args)

        proc.send_block = counted  # type: ignore[method-assign]
        relax_by_blocks(proc, grid, iterations=iterations)
        return count

    assert sent(3) - sent(2) == 8


def test_neighbours_are_mutual() -> None:
    sharing = rectangles((9, 5), 12, layout="rectangular", blocks=(4, 3))
    for rank in range(12):
        for to in neighbours(sharing, 3, rank):
            assert rank in [back.rank for back in neighbours(sharing, 3, to.rank) if back.side == to.side ^ 1]


@pytest.mark.parametrize(("how", "message"), [({"layout": "shared"}, "no edges"), ({"every": 0}, "at least 1")])
def test_wrong_arguments_are_refused(how: Any, message: str) -> None:
    with pytest.raises(smp.errors.ProcessorRaised, match=message):
        relaxed(relax_by_blocks, np.zeros((5, 5)), 2, iterations=1, **how)
