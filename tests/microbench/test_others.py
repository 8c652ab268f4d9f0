"""What others take of the CPUs: all that is neither idle nor ours, over stretches long enough; the reason of points."""

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
    """Readings around stretches of so many ns, in which others have a share; the rest is half idle, half ours."""
    made = [Reading(0, 0, 0)]
    for ns, share in stretches:
        wall, idle, own = made[-1]
        left = int(cpus * ns * (1 - share) / 2)
        made.append(Reading(wall + ns, idle + left, own + left))
    return made


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(1, 64))
def test_a_long_stretch_has_its_own_share(others: list[float], cpus: int) -> None:
    assert shares(readings([(STRETCH_NS, share) for share in others], cpus), cpus) == pytest.approx(others, abs=1e-6)


def test_short_stretches_are_judged_with_those_around_them() -> None:
    short = STRETCH_NS // 4
    found = shares(readings([(short, 0.0)] * 4 + [(short, 1.0)] * 8, 2), 2)
    assert found[0] == 0, "with the three that follow"
    assert found[3] == pytest.approx(0.5, abs=0.15), "between both"
    assert found[-1] == 1


def test_all_short_stretches_together_are_one() -> None:
    assert shares(readings([(1000, 0.0), (1000, 1.0)], 2), 2) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_no_reading_no_share() -> None:
    assert shares([], 2).size == shares([Reading(1, 2, 3)], 2).size == 0


def test_idle_time_is_that_of_the_cpus_asked_for(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc/stat"
    stat.write_text("cpu 9 9 9 999 9\ncpu0 1 0 0 30 2 0 0 0\ncpu1 1 0 0 500 0 0 0 0\ncpu10 1 0 0 7000 0 0 0 0\n")
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert idle_ns({0}, tmp_path) == 32 * tick
    assert idle_ns({1, 10}, tmp_path) == 7500 * tick
    stat.write_text("cpu0 0 0 0 0 0\n")  # a sandbox that counts nothing
    assert idle_ns({0}, tmp_path) is None
    assert idle_ns({0}, tmp_path / "nowhere") is None


@pytest.mark.skipif(idle_ns(affinity()) is None, reason="the system does not count idle time")
@pytest.mark.parametrize("start", ["forkserver", "fork"])
def test_what_runs_on_a_machine_is_ours_and_a_process_of_any_other_kind_is_not(start: str) -> None:
    """A child of this process too, such as a program that a notebook has started."""

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


def test_the_share_of_others_is_the_reason() -> None:
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
    assert len(counted(result_of("point", windows))) == 10, "there is no clean one"
