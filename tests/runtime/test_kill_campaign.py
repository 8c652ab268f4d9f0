"""SIGKILL at random moments: every run ends, no process is left, and every error names the killed processor."""

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import loops
from support.loops import busy, rounds_entered
from support.machines import HARD, gone

import smp
from smp._runtime.protocols import wait
from smp.errors import ProcessorDied

ORDINARY, ALL = 15, 500


def again_and_again(machine: smp.Machine, *arrays: smp.GlobalArray) -> None:
    while True:
        machine.run(busy, *arrays, 5)


def campaign(kills: int, seed: int, record: Callable[[str, object], None]) -> None:
    drawn = random.Random(seed)
    took: list[float] = []
    shared, mine = np.zeros(wait.SHARED_WORDS, np.int64), np.zeros(wait.PRIVATE_WORDS, np.int64)
    mine[[wait.SHARED, wait.SIZE]] = shared.ctypes.data, 1
    rounds_entered(np.zeros(8, np.int64), mine, 0, 1, 0, 1, 0)  # loaded once, for processors that are forked
    while len(took) < kills:
        with smp.host(drawn.choice([2, 3]), start=drawn.choice(["fork"] * 4 + ["forkserver"])) as machine:
            shared, words = machine.zeros(10_000), machine.zeros(8 * machine.size, np.int64)
            pids = machine.run(lambda proc: os.getpid()).results
            victim, delay = drawn.randrange(machine.size), drawn.uniform(0, 0.06)
            when = [0.0]

            def kill(pid: int, delay: float, when: list[float]) -> None:
                time.sleep(delay)
                when[0] = time.monotonic()
                os.kill(pid, signal.SIGKILL)

            killer = threading.Thread(target=kill, args=(pids[victim], delay, when))
            killer.start()
            with pytest.raises(ProcessorDied) as caught:
                again_and_again(machine, shared, words)
            took.append(time.monotonic() - when[0])
            killer.join()
            named(caught.value, victim, machine.size)
            assert all(gone(pid) for pid in pids)
    took.sort()
    record("kills", kills)
    record("milliseconds: median, 95%, largest", [1e3 * took[int(q * (kills - 1))] for q in (0.5, 0.95, 1.0)])
    assert took[-1] < HARD


def named(error: ProcessorDied, victim: int, size: int) -> None:
    """Check that an error names the processor, the signal, and its line and superstep, or that it was idle."""
    assert error.rank == victim
    here = rf"last seen at {re.escape(loops.__file__)}:\d+(, (in the \S+ phase of|after) superstep \d \('step \d'\))?"
    assert re.fullmatch(
        rf"processor {victim} of {size} was killed by SIGKILL \(9\) \(the kernel sends it when memory runs out: see "
        rf"its log\); ({here}|it was idle); the machine is closed: open a new one, or call machine\.restart\(\)",
        str(error),
    ), str(error)


def test_every_kill_is_reported_and_leaves_nothing_behind(nothing_left: None, record_property: Any) -> None:
    campaign(ORDINARY, 1, record_property)


@pytest.mark.slow
def test_every_one_of_many_kills_is_reported_and_leaves_nothing_behind(
    nothing_left: None, record_property: Any
) -> None:
    campaign(ALL, 2, record_property)
