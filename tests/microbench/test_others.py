"""The share of the CPUs that other processes take: neither idle nor our own, over stretches that are long enough."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.load import busy_cpus

import smp
from smp._computer.system import affinity, idle_ns
from smp.microbench.method.others import STRETCH_NS, Others, Reading, shares
from smp.microbench.method.visits import VISIT, counted, result_of
from smp.microbench.method.windows import Flag, flags


def readings(stretches: list[tuple[int, float]], cpus: int) -> list[Reading]:
    """Return readings around stretches of given ns and shares of others; the rest is half idle and half our own."""
    made = [Reading(0, 0, 0)]
    for ns, share in stretches:
        wall, idle, own = made[-1]
        left = int(cpus * ns * (1 - share) / 2)
        made.append(Reading(wall + ns, idle + left, own + left))
    return made


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(1, 64))
def test_a_long_stretch_has_its_own_share(others: list[float], cpus: int) -> None:
    assert shares(readings([(STRETCH_NS, share) for share in others], cpus), cpus) == pytest.approx(others, abs=1e-6)


def test_short_stretches_are_judged_together_with_their_neighbours() -> None:
    short = STRETCH_NS // 4
    found = shares(readings([(short, 0.0)] * 4 + [(short, 1.0)] * 8, 2), 2)
    assert found[0] == 0, "judged with the three that follow"
    assert found[3] == pytest.approx(0.5, abs=0.15), "judged with stretches of both kinds"
    assert found[-1] == 1


def test_stretches_that_are_short_in_total_are_judged_as_one() -> None:
    assert shares(readings([(1000, 0.0), (1000, 1.0)], 2), 2) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_without_two_readings_there_is_no_share() -> None:
    assert shares([], 2).size == shares([Reading(1, 2, 3)], 2).size == 0


def test_idle_time_is_that_of_the_given_cpus(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc/stat"
    stat.write_text("cpu 9 9 9 999 9\ncpu0 1 0 0 30 2 0 0 0\ncpu1 1 0 0 500 0 0 0 0\ncpu10 1 0 0 7000 0 0 0 0\n")
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert idle_ns({0}, tmp_path) == 32 * tick
    assert idle_ns({1, 10}, tmp_path) == 7500 * tick
    stat.write_text("cpu0 0 0 0 0 0\n")  # a sandbox that does not count time
    assert idle_ns({0}, tmp_path) is None
    assert idle_ns({0}, tmp_path / "nowhere") is None


@pytest.mark.skipif(idle_ns(affinity()) is None, reason="the system does not count idle time")
@pytest.mark.parametrize("start", ["forkserver", "fork"])
def test_processes_of_a_machine_are_our_own_and_all_other_processes_are_others(start: str) -> None:
    """Other children of this process are others, too, such as a program that a notebook has started."""

    def spin(proc: smp.Processor) -> None:
        end = time.monotonic() + 1.5 * STRETCH_NS / 1e9
        while time.monotonic() < end:
            pass

    with smp.host(1, start=start) as machine:
        ours = Others()
        ours.note()
        machine.run(spin)
        ours.note()
        with busy_cpus(1):
            time.sleep(0.1)
            theirs = Others()
            theirs.note()
            time.sleep(1.5 * STRETCH_NS / 1e9)
            theirs.note()
    (others,), (fewer,) = theirs.shares(), ours.shares()
    assert others > fewer + 0.2 / len(affinity())


def test_the_share_of_others_is_given_as_the_reason() -> None:
    windows = np.zeros(10, VISIT)
    windows["operations"], windows["wall_ns"], windows["cpu_ns"] = 1, 1000, 1000
    windows["overlap"][:4], windows["overlap"][4:] = 1.0, 0.25
    windows["wall_ns"][4:] = 5000
    windows["flags"] = flags(windows)
    result = result_of("point", windows)
    assert result.why == ["other processes took 75% of the CPU time"]
    assert result.median == 1000, "of the clean ones"
    assert counted(result)["wall_ns"].tolist() == [1000] * 4
    windows["flags"] = Flag.STOLEN
    assert len(counted(result_of("point", windows))) == 10, "there is no clean window"
