"""Starting a stream, starting a thread on a stream, remapping a stream after a trap; after tables 1 to 3.

    stream      pool.start until the thread runs, on a stream that has no thread of the system yet       (table 1)
    thread      the same on an idle stream
    bare        threading.Thread.start until that thread runs: the first step of starting a stream
    remap       a thread waits, and its stream goes to a ready thread: until that thread runs            (table 2)
    at once     the same with retry limit 0, by a trap: the paper's adjusted mean, measured
    back        from then until the first goes on, once the second has filled its cell and ended
    next        a thread ends, and its stream goes to a ready thread: what the paper could not time

A wait with the Tera's limit of 1,024 retries gives up its stream before it traps, since every `TURN` looks it lets a
ready thread go on.  The accounting (table 3) uses a wait that traps just before that.  It measures the parts of a
remapping separately, and reports how much of the remapping they explain.  The parts are:

    looks       the looks before the trap
    trap        the trap, timed as a wait that withdraws at once
    wake        the wake-up of another thread of the system, and the switch to it
    python      the way of that thread back into Python
    call        the call of its function there, with the cells as an argument

The events above happen on all CPUs of the process, and the system places the threads.  The parts, and the remapping
that they make up, happen on one CPU, where a woken thread runs as soon as the waker sleeps.

Source: the study of the Tera MTA, section 3.3.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp._runtime.program.streams import Pool, Thread
from smp._runtime.protocols.cell import READFF
from smp._runtime.protocols.stream_slots import TURN
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.others import Others
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import Times, judged, key_of, row
from smp.microbench.method.visits import Watch, counted, elsewhere_of, result_of, rounds, section_of, states_of
from smp.microbench.method.windows import Windows
from smp.models.placement_log import PlacementLog

from ..retries.probe import NAP
from .loops import BEFORE, HANDOFF_WORDS, WOKEN, answer, remap, sleep_once, spin_out, stamp, wake_once, write_time
from .rows import Accounting, Event, EventName, Part, PartName, Threads, Whole

EVENTS: tuple[EventName, ...] = ("stream", "thread", "bare", "remap", "at once", "back", "next")
PARTS: tuple[PartName, ...] = ("looks", "trap", "wake", "python", "call")
WHOLE = "whole"
"""Name of the whole remapping, which the parts make up."""
RETRIES, LOOKS = 1024, TURN - 1
"""Retry limit of the Tera, and the largest limit with which a wait traps before it lets a ready thread go on."""
SECONDS = {"quick": 0.5, "default": 2.7, "full": 19.0}
"""Seconds of each mode."""
REPEATS = 10
"""Number of times that each event or part is timed in a round."""
SPIN_NS = 200_000
"""Time for which a thread keeps its CPU before it traps or wakes another thread."""
KEY = {"what": "U8"}
Words = NDArray[np.int64]


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the times of starting and remapping, and of the parts of a remapping.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each of `EVENTS`, with the median ``ns``, ``mean_ns`` and ``std_ns``.
        ``data.parts`` has a row for each of `PARTS`, and ``data.whole`` is the remapping that the parts make up.
        ``data.accounting`` has the ``total_ns`` of a remapping, the sum of its parts as ``explained_ns``, and the
        ratio of the two as ``explained``. ``samples`` has every event.

    Raises
    ------
    Stopped
        On Ctrl-C, with the rounds that are complete.

    Notes
    -----
    Takes 1, 3 or 20 s, depending on the mode.
    """
    clock, GHz = HostClock(), clock_rate().GHz
    tick(0.0, "threads")
    everything = (*EVENTS, WHOLE, *PARTS)
    with host(1, pin=False) as machine, host(1, pin=usable_cpus()[:1]) as pinned:
        places = [
            (place, {limit: place.cells(1, padded=True, retries=limit) for limit in (0, LOOKS, RETRIES)})
            for place in (machine, pinned)
        ]

        def take(order: list[str], turn: int) -> list[Windows]:
            found: dict[str, Windows] = {}
            for (place, cells), names in zip(places, (EVENTS, (WHOLE, *PARTS)), strict=True):
                mine = [what for what in order if what in names]
                windows = place.run(_program, cells, mine, turn, clock.timer_ns).results[0]
                found |= zip(mine, windows, strict=True)
            return [found[what] for what in order]

        take(list(everything), 0)  # compiles
        seconds = plan.seconds(SECONDS[plan.mode])
        rng = np.random.default_rng([plan.seed, 14])
        taken, cut = rounds(everything, take, seconds, rng, clock, tick, Others(), plan.placement)
    results = [result_of((what,), windows) for what, windows in taken.items()]
    found = {key_of(result)[0]: statistics(result, GHz, plan.placement) for result in results}
    data = Threads(
        rows=[Event(what=what, **found[what]) for what in EVENTS],
        placement=states_of(plan.placement),
        whole=Whole(what=WHOLE, **found[WHOLE]),
        parts=[Part(what=what, **found[what]) for what in PARTS],
        retries=RETRIES,
        looks=LOOKS,
        accounting=accounting({what: each["ns"] for what, each in found.items()}),
        **judged(results),
    )
    return section_of("threads", results, data, KEY, cut)


class Statistics(Times):
    """Fields that the rows have in common."""

    mean_ns: float
    std_ns: float
    elsewhere_ns: list[float | None] | None


def statistics(result: Result, GHz: float, log: PlacementLog) -> Statistics:
    """Return the numbers of a row."""
    ns = counted(result)["wall_ns"]
    deviation, others = float(ns.std()), elsewhere_of(result, log)
    return {"mean_ns": float(ns.mean()), "std_ns": deviation, "elsewhere_ns": others, **row(result, GHz)}


def accounting(times: Mapping[str, float]) -> Accounting:
    """Return the time of a remapping, the sum of its parts, and how much of the time they explain.

    Parameters
    ----------
    times : mapping of str to float
        Median ns of each of `PARTS` and of the `WHOLE`.

    Examples
    --------
    >>> accounting({"whole": 80.0, **dict.fromkeys(PARTS, 10.0)})
    Accounting(total_ns=80.0, explained_ns=50.0, explained=0.625)
    """
    total, explained = times[WHOLE], sum(times[part] for part in PARTS)
    return Accounting(total_ns=total, explained_ns=explained, explained=explained / total)


def _program(proc: Processor, cells: dict[int, Cells], order: list[str], turn: int, timer_ns: float) -> list[Windows]:
    """Run the program of the processor: time every event and part `REPEATS` times."""
    bench = _Bench(proc, cells)
    made = []
    for what in order:
        watch = Watch(proc.counters)
        times = [bench.times[what]() for _ in range(REPEATS)]
        windows = np.repeat(watch.window(turn, 1, 0, timer_ns), REPEATS)
        windows["wall_ns"] = windows["cpu_ns"] = times
        made.append(windows)
    return made


class _Bench:
    """Functions by name, each of which measures one event or part and returns its ns."""

    def __init__(self, proc: Processor, cells: dict[int, Cells]) -> None:
        self._proc, self._cells = proc, cells
        self._words, self._number = np.zeros(HANDOFF_WORDS, np.int64), 0
        self.times: dict[str, Callable[[], int]] = {
            "stream": self._stream,
            "thread": self._thread,
            "bare": self._bare,
            "remap": lambda: self._remap(RETRIES)[0],
            WHOLE: lambda: self._remap(LOOKS)[0],
            "at once": lambda: self._remap(0)[0],
            "back": self._back,
            "next": self._next,
            "looks": self._looks,
            "trap": self._trap,
            "wake": lambda: self._handed()[0],
            "python": lambda: self._handed()[1],
            "call": self._call,
        }

    def _settle(self) -> None:
        """Keep the stream until other threads have fallen asleep, and then the CPU until it runs at full speed."""
        time.sleep(NAP)
        spin_out(SPIN_NS)

    def _stream(self) -> int:
        """Return the ns from `start` until the thread runs, the first of its pool."""
        with self._proc.streams(1) as pool:
            return self._started(pool)

    def _thread(self) -> int:
        """Return the ns from `start` until the thread runs, on a stream that sleeps."""
        with self._proc.streams(1) as pool:
            self._started(pool)
            time.sleep(NAP)
            return self._started(pool)

    def _started(self, pool: Pool) -> int:
        times = np.zeros(1, np.int64)
        start = time.monotonic_ns()
        pool.start(stamp, times, 0).result()
        return int(times[0]) - start

    def _bare(self) -> int:
        """Return the ns from ``start`` until the thread runs, for a plain thread of Python."""
        times = np.zeros(1, np.int64)
        thread = threading.Thread(target=stamp, args=(times, 0))
        start = time.monotonic_ns()
        thread.start()
        thread.join()
        return int(times[0]) - start

    def _remap(self, limit: int) -> tuple[int, int]:
        """Wait while another thread is ready; return ns until that thread runs, and until this one goes on."""
        times, cells = np.zeros(2, np.int64), self._cells[limit]

        def outer(pool: Pool) -> None:
            pool.start(write_time, cells)
            self._settle()
            remap(cells, times)

        with self._proc.streams(1) as pool:
            pool.start(outer, pool).result()
        return int(times[0]), int(times[1])

    def _back(self) -> int:
        ran, went_on = self._remap(0)
        return went_on - ran

    def _next(self) -> int:
        """Return the ns from the end of one thread until the next runs on its stream."""
        times = np.zeros(2, np.int64)

        def first(pool: Pool) -> None:
            pool.start(stamp, times, 1)
            self._settle()
            stamp(times, 0)

        with self._proc.streams(1) as pool:
            pool.start(first, pool).result()
        return int(times[1] - times[0])

    def _looks(self) -> int:
        """Return the ns that `LOOKS` looks add to a wait, from the shortest of five waits with and without them."""
        with_looks, without = (min(self._trap(limit) for _ in range(5)) for limit in (LOOKS, 0))
        return with_looks - without

    def _trap(self, limit: int = 0) -> int:
        """Return the ns of a wait that makes ``limit`` looks, traps, and withdraws at once, since its time is over."""
        threads, address = self._proc._shared_memory("a pool of streams").threads, self._cells[limit]._at(0)
        own = threads.own()
        own.in_use = True
        try:
            start = time.perf_counter_ns()
            threads.operate(own, address, READFF, limit, 1)
            return time.perf_counter_ns() - start
        finally:
            own.in_use = False

    def _handed(self) -> tuple[int, int]:
        """Wake a bare thread that sleeps; return ns until it runs, and from then until its next call from Python."""
        words = self._words
        self._number += 1
        number, times, sync = self._number, np.zeros(1, np.int64), self._proc.sync

        def sleeper() -> None:
            sleep_once(words, number, sync)
            stamp(times, 0)
            answer(words, number)

        thread = threading.Thread(target=sleeper)
        thread.start()
        self._settle()
        wake_once(words, number, sync)
        thread.join()
        before, woken = int(words[BEFORE]), int(words[WOKEN])
        return woken - before, int(times[0]) - woken

    def _call(self) -> int:
        """Return the ns from the beginning of the pool's thread until its function writes the time."""
        cells = self._cells[0]
        self._settle()
        thread = Thread(self._proc._shared_memory("a pool of streams").threads, lambda: write_time(cells))
        start = time.monotonic_ns()
        thread.run(lambda thread: None)
        return int(cells.readfe(0)) - start
