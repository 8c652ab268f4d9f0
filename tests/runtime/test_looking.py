"""Looks at the placement of the CPUs before and after a timing, and repeated timings if the host has moved them."""

import math
import threading

import numpy as np
import pytest
from support.load import busy_cpus
from support.placement import FAR, Moving

from smp._computer.limits import usable_cpus
from smp._runtime.host.looking import FRESH_S, GRACE_S, SHARE, Looker, look

TWO = pytest.mark.skipif(len(usable_cpus()) < 2, reason="one CPU has no placement")


@TWO
def test_a_look_times_a_hand_off_and_leaves_the_cpus_of_this_thread_unchanged() -> None:
    looks = (look() for _ in range(100))  # a busy computer loses some
    assert 1.0 < next(ns for ns in looks if not math.isnan(ns)) < 1e5
    assert len(usable_cpus()) > 1


@TWO
def test_looks_end_on_a_busy_computer() -> None:
    with busy_cpus(4 * len(usable_cpus())):
        for _ in range(5):
            ns = look()
            assert math.isnan(ns) or ns > 1.0


@TWO
def test_several_threads_can_look_at_once() -> None:
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(look())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert len(found) == 4


def test_a_look_at_a_missing_cpu_ends() -> None:
    assert math.isnan(look([usable_cpus()[0], 1 << 20]))


@pytest.mark.parametrize("cpus", [[], [0]])
def test_one_cpu_has_no_placement(cpus: list[int]) -> None:
    assert math.isnan(look(cpus))


def test_work_timed_while_the_cpus_were_placed_otherwise_is_timed_again() -> None:
    """The CPUs are far apart for a quarter of the time, in spells of two seconds that a plain median does not show."""
    machine = Moving(lambda at: at % 8 > 6)
    looker = machine.looker()
    taken = [looker.time(machine.work) for _ in range(3000)]
    assert np.mean(np.array(taken) > 0.010) < 0.03, "only before the main state is known, or at the edge of a spell"
    assert looker.again > 100
    assert looker.elsewhere < 30
    assert looker.said().startswith("the host moved the CPUs: a hand-off of a line takes 30 ns (")


def test_timing_again_takes_only_a_limited_share_of_the_time() -> None:
    """The CPUs are moved once and for all, so that their new placement becomes the main state in the end."""
    machine = Moving(lambda at: at > 10)
    looker = machine.looker()
    while machine.now < 10:
        looker.time(machine.work)
    looks, times = 0, looker.again
    while machine.now < 60:
        before = machine.now
        looker.time(machine.work)
        looks += machine.now - before > 0.1
    assert looker.again > times
    assert 0.015 * looker.again < SHARE * 60 + GRACE_S + 0.1
    assert looker.elsewhere > 0
    assert f"{looker.elsewhere} of another state" in looker.said()
    assert looker.usual(FAR, FAR), "the main state by now"


def test_a_reading_stays_valid_for_a_moment() -> None:
    machine = Moving(lambda at: False)
    looker = machine.looker()
    for _ in range(20):
        looker.time(lambda: None)
    assert len(looker.log.samples()) == 1
    machine.now += 2 * FRESH_S
    looker.now()
    assert len(looker.log.samples()) == 2
    assert looker.said() == ""


def test_unknown_readings_have_no_effect() -> None:
    looker = Looker(lambda: math.nan)
    assert looker.time(lambda: 7) == 7
    assert (looker.again, looker.elsewhere, looker.said()) == (0, 0, "")
