"""SIGKILL at random moments: every run ends, no process is left, and every error names the killed processor."""

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil
import pytest
from support import loops
from support.loops import busy, rounds_entered
from support.machines import HARD, ROOT, Script, gone

import smp
from smp._runtime.protocols import wait
from smp.errors import ProcessorDied, SmpError

ORDINARY, ALL, PARENTS = 15, 800, 200


def again_and_again(machine: smp.Machine, *arrays: smp.GlobalArray) -> None:
    while True:
        machine.run(busy, *arrays, 5)


def loaded() -> None:
    """Load the loops of the programs once here, for processors that are forked."""
    shared, mine = np.zeros(wait.SHARED_WORDS, np.int64), np.zeros(wait.PRIVATE_WORDS, np.int64)
    mine[[wait.SHARED, wait.SIZE]] = shared.ctypes.data, 1
    rounds_entered(np.zeros(8, np.int64), mine, 0, 1, 0, 1, 0)


def campaign(kills: int, seed: int, record: Callable[[str, object], None], targets: Sequence[str] = ("one",)) -> None:
    """Kill one processor, all of them, or the process that starts them, at random moments."""
    drawn = random.Random(seed)
    took: dict[str, list[float]] = {target: [] for target in targets}
    loaded()
    for k in range(kills):
        target = targets[k % len(targets)]
        with smp.host(drawn.choice([2, 3]), start=drawn.choice(["fork"] * 4 + ["forkserver"])) as machine:
            shared, words = machine.zeros(10_000), machine.zeros(8 * machine.size, np.int64)
            pids = machine.run(lambda proc: os.getpid()).results
            victim, delay = drawn.randrange(machine.size), drawn.uniform(0, 0.06)
            killed = {"one": [pids[victim]], "all": pids, "server": [psutil.Process(pids[0]).ppid()]}[target]
            when = [0.0]

            def kill(killed: Sequence[int], delay: float, when: list[float]) -> None:
                time.sleep(delay)
                when[0] = time.monotonic()
                for pid in killed:
                    with contextlib.suppress(ProcessLookupError):  # ended with another one, and reaped
                        os.kill(pid, signal.SIGKILL)

            killer = threading.Thread(target=kill, args=(killed, delay, when))
            killer.start()
            with pytest.raises(SmpError) as caught:
                again_and_again(machine, shared, words)
            took[target].append(time.monotonic() - when[0])
            killer.join()
            if target == "server":
                assert SERVER in str(caught.value) or "was killed by SIGKILL (9)" in str(caught.value)
            else:
                assert isinstance(caught.value, ProcessorDied)
                named(caught.value, victim if target == "one" else caught.value.rank, machine.size)
            assert all(gone(pid) for pid in pids)
    if "server" in targets:
        smp.host(1).close()  # the next process that starts processors, in place of one that was killed
    noted(took, record)


SERVER = "the process that starts the processors was killed, and the processors ended with it"


def noted(took: dict[str, list[float]], record: Callable[[str, object], None]) -> None:
    for target, seconds in took.items():
        seconds.sort()
        record(f"kills: {target}", len(seconds))
        quantiles = [1e3 * seconds[int(q * (len(seconds) - 1))] for q in (0.5, 0.95, 1.0)]
        record(f"milliseconds: {target}: median, 95%, largest", quantiles)
        assert seconds[-1] < HARD


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
    campaign(ALL, 2, record_property, ("one", "all", "server", "one"))


PARENT = """
import os
from support.loops import busy
import numpy as np
import smp

with smp.host(3, start=os.environ["START"]) as machine:
    arrays = machine.zeros(10_000), machine.zeros(24, np.int64)
    machine.run(busy, *arrays, 1)
    print(*machine.run(lambda proc: (os.getpid(), os.getppid())).results, flush=True)
    while True:
        machine.run(busy, *arrays, 5)
"""


def parents(kills: int, seed: int, script: Script, record: Callable[[str, object], None]) -> None:
    """Kill the process that runs programs; its processors, and the process that starts them, end as well."""
    drawn, took = random.Random(seed), []
    for k in range(kills):
        paths = f"{ROOT}:{ROOT / 'tests'}"
        parent = script(PARENT, START=("fork", "forkserver", "spawn")[k % 3], PYTHONPATH=paths)
        assert parent.stdout is not None
        pids = {int(pid) for pid in re.findall(r"\d+", parent.stdout.readline())}
        assert len(pids) == 4
        time.sleep(drawn.uniform(0, 0.06))
        began = time.monotonic()
        parent.kill()
        assert all(gone(pid) for pid in pids)
        took.append(time.monotonic() - began)
        parent.communicate()
    noted({"parent": took}, record)


def test_nothing_is_left_of_a_killed_parent(nothing_left: None, script: Script, record_property: Any) -> None:
    parents(2, 3, script, record_property)


@pytest.mark.slow
def test_nothing_is_left_of_many_killed_parents(nothing_left: None, script: Script, record_property: Any) -> None:
    parents(PARENTS, 4, script, record_property)
