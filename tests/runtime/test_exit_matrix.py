"""Every way of ending, at every place of a program, on the processor's own stream and on one of its team.

The campaign has each combination on each rank and with each start method.  Each end gives the error that names the
rank, the cause and the place, in bounded time, and leaves nothing behind.
"""

import itertools
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.machines import HARD, gone
from support.sampled import each

import smp
from smp.errors import ProcessorDied, ProcessorRaised, ProgramError

STARTS = ("fork", "forkserver", "spawn")
SIZE = 2
HERE = re.escape(__file__)


class Base(BaseException):
    """An end that ``except Exception`` does not catch."""


def killed_by(number: int) -> Callable[[], None]:
    def end() -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    return end


def raising(error: BaseException) -> Callable[[], None]:
    def end() -> None:
        raise error

    return end


WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "exception": (raising(ValueError("why")), "raised ValueError: why"),
    "base exception": (raising(Base("why")), "raised Base: why"),
    "KeyboardInterrupt": (raising(KeyboardInterrupt()), "raised KeyboardInterrupt"),
    "sys.exit": (lambda: sys.exit(3), "raised SystemExit: 3"),
    "os._exit": (lambda: os._exit(3), "ended with status 3, by os._exit or inside a library"),
    "SIGTERM": (killed_by(signal.SIGTERM), "was killed by SIGTERM (15)"),
    "SIGKILL": (killed_by(signal.SIGKILL), "was killed by SIGKILL (9)"),
    "SIGSEGV": (killed_by(signal.SIGSEGV), "was killed by SIGSEGV (11)"),
    "abort": (os.abort, "was killed by SIGABRT (6)"),
}
"""How each way ends a processor, and what the error says."""
PLACES = ("plain code", "barrier", "cell", "phase")
CONTEXTS = ("own stream", "team")
RAISES = ("exception", "base exception", "KeyboardInterrupt", "sys.exit")


def ending(proc: smp.Processor, way: str, place: str, context: str, victim: int, cells: smp.Cells) -> int:
    """End the victim at the place, or before it if it raises; the others wait there."""
    with proc.superstep("first"):
        pass
    if proc.rank == victim:
        with proc.superstep("second") if place == "phase" else proc.streams(1):
            if place in ("barrier", "cell") and way not in RAISES:
                return waiting(proc, way, place, context, cells)
            end(proc, way, context)
    elif place == "cell":
        cells.readff(0)
    elif place == "phase":
        with proc.superstep("second") as step:
            step.compute()
    elif place == "barrier" and way in RAISES:
        proc.barrier()
    else:  # the victim is alone in its barrier
        time.sleep(60)
    return 0


def end(proc: smp.Processor, way: str, context: str) -> None:
    act = WAYS[way][0]
    if context == "own stream":
        act()
    with proc.streams(2) as pool:
        pool.start(act)


def waiting(proc: smp.Processor, way: str, place: str, context: str, cells: smp.Cells) -> int:
    """Wait at the place, on one stream, while a thread ends the process."""
    threading.Timer(0.02, WAYS[way][0]).start()
    if context == "team":
        with proc.streams(2) as pool:
            pool.start(cells.readff, 0)
            if place == "barrier":
                proc.barrier()
    elif place == "cell":
        cells.readff(0)
    else:
        proc.barrier()
    return 1


def ended(start: str, way: str, place: str, context: str, victim: int) -> float:
    """Run one combination, check its error, and return the seconds that it took."""
    case = f"{start}, {way}, {place}, {context}, {victim}"
    with smp.host(SIZE, start=start) as machine:
        pids = machine.run(lambda proc: os.getpid()).results
        began = time.monotonic()
        with pytest.raises(ProgramError) as caught:
            machine.run(ending, way, place, context, victim, machine.cells(1))
        seconds = time.monotonic() - began
        said, error = str(caught.value), caught.value
        assert said.startswith(f"processor {victim} of {SIZE} {WAYS[way][1]}"), (case, said)
        assert type(error) is (ProcessorRaised if way in RAISES else ProcessorDied), (case, said)
        assert re.search(rf"at {HERE}:\d+", said), (case, said)
        step = r"in the copy-in phase of superstep 1 \('second'\)" if place == "phase" else r"superstep 0 \('first'\)"
        assert re.search(step, said), (case, said)
    assert seconds < HARD, case
    assert all(gone(pid) for pid in pids), case
    return seconds


def cases(start: str) -> Iterator[tuple[str, str, str, str, int]]:
    for way, place, context, victim in itertools.product(WAYS, PLACES, CONTEXTS, range(SIZE)):
        yield start, way, place, context, victim


@pytest.mark.parametrize("way", each(3, WAYS))
def test_an_end_in_a_phase_on_a_team_names_the_superstep(nothing_left: None, way: str) -> None:
    ended("forkserver", way, "phase", "team", 1)


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_every_end_everywhere_is_reported(nothing_left: None, start: str, record_property: Any) -> None:
    took = sorted(ended(*case) for case in cases(start))
    record_property("ends", len(took))
    record_property("milliseconds: median, largest", [1e3 * took[len(took) // 2], 1e3 * took[-1]])
