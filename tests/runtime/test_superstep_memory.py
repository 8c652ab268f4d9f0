"""Supersteps that have ended hold no memory of the values that they read or wrote."""

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import Emulated, Machines
from support.sampled import each

import smp

WORDS = 1 << 21  # 16 MB of float64
STEPS = 80


def private_bytes() -> int:
    """Return the number of bytes of private memory of this process, to which its local arrays belong."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


def fill(view: Any, values: Any) -> int:
    view[:] = values
    return len(values)


def growth(proc: smp.Processor, array: smp.GlobalArray, by_loop: bool, raises: bool) -> int:
    """Return the number of bytes by which the memory of this processor grows at most over many supersteps."""
    gc.collect()
    before, most = private_bytes(), 0
    for _ in range(STEPS):
        try:
            with proc.superstep("sweep") as step:
                local = step.copy_in(array, slice(None)) if proc.rank == 0 else np.zeros(1)
                step.compute()
                local = local + 1.0
                if by_loop and proc.rank == 0:
                    step.copy_out_by(fill, array, local)
                elif proc.rank == 0:
                    step.copy_out(array, slice(None), local)
                if raises:
                    raise KeyError
        except KeyError:
            pass
        most = max(most, private_bytes() - before)
    return most


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines, emulated: Emulated) -> smp.Machine:
    return machines(2) if request.param == "host" else emulated(2)


@pytest.mark.parametrize(("by_loop", "raises"), each(2, [(True, False), (False, False), (False, True)]))
def test_ended_supersteps_hold_no_memory(machine: smp.Machine, by_loop: bool, raises: bool) -> None:
    array = machine.zeros(WORDS)
    run = machine.run(growth, array, by_loop, raises)
    assert max(run.results) < 5 * array.nbytes
    assert array[0] == (0 if raises else STEPS)
