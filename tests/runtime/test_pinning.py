"""Machines of one user that are open together run on different CPUs, as far as there are enough."""

import concurrent.futures
import contextlib
import logging
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.machines import Script
from support.sampled import campaigns

import smp
from smp._computer.limits import measuring_cpus, usable_cpus
from smp._runtime.host import pinning
from smp._runtime.host.claims import folder
from smp._runtime.host.pinning import pinned

CPUS = usable_cpus()
several = pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU")


@pytest.fixture(autouse=True)
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for claims, which the processes of a test inherit; and no line was logged before."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("SMP_PIN", raising=False)
    monkeypatch.setattr(pinning, "_said", False)
    return tmp_path / "smp"


@contextlib.contextmanager
def restricted(cpus: list[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def where(proc: smp.Processor) -> list[int]:
    return sorted(os.sched_getaffinity(0))


def places(machine: smp.Machine) -> list[list[int]]:
    return machine.run(where).results


OTHER = """
import os, signal, sys
import smp

def where(proc):
    return sorted(os.sched_getaffinity(0))

if __name__ == "__main__":
    machine = smp.host(int(sys.argv[1]))
    print(machine.run(where).results, flush=True)
    signal.pause()
"""


def opened(script: Script, processors: int = 1, **environment: str) -> tuple["subprocess.Popen[str]", Any]:
    """Return another process that has opened a machine, and the CPUs of its processors."""
    process = script(OTHER, str(processors), **environment)
    assert process.stdout is not None
    return process, eval(process.stdout.readline())


@several
@pytest.mark.parametrize("start", ["forkserver", "fork"])
def test_two_machines_of_one_process_run_on_different_cpus(start: str) -> None:
    with smp.host(1, start=start) as one, smp.host(1, start=start) as other:
        assert [*places(one), *places(other)] == [[CPUS[0]], [CPUS[1]]]


@several
def test_machines_of_two_processes_run_on_different_cpus(script: Script) -> None:
    _, first = opened(script)
    assert first == [[CPUS[0]]]
    with smp.host(1) as machine:
        assert places(machine) == [[CPUS[1]]]


@several
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_claim_ends_with_its_process(script: Script, number: int) -> None:
    process, _ = opened(script)
    process.send_signal(number)
    process.wait()
    with smp.host(1) as machine:
        assert places(machine) == [[CPUS[0]]]


def test_a_closed_machine_releases_its_cpus(nothing_left: None) -> None:
    for _ in range(2):
        with smp.host() as machine:
            assert places(machine) == [[cpu] for cpu in CPUS]
    smp.host(1)  # dropped while it is open
    assert pinned(1, CPUS, None).places == CPUS[:1]


@several
def test_a_machine_that_does_not_start_releases_its_cpus() -> None:
    with pytest.raises(ValueError, match="start must be one of"):
        smp.host(1, start="by magic")
    assert pinned(1, CPUS, None).places == CPUS[:1]


@several
def test_machines_that_find_too_few_cpus_may_move_and_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    with smp.host() as first, smp.host(1) as second, smp.host(1) as third:
        assert places(first) == [[cpu] for cpu in CPUS]
        assert places(second) == places(third) == [allowed]
    [record] = caplog.records
    assert (record.name, record.levelno) == ("smp", logging.WARNING)
    assert f"which have claimed {len(CPUS)} of the {len(CPUS)}" in record.getMessage()
    assert "SMP_PIN=0" in record.getMessage()


@several
def test_a_machine_takes_all_of_its_cpus_or_none() -> None:
    one = pinned(1, CPUS, None)
    assert pinned(len(CPUS), CPUS, None).places == [None] * len(CPUS)
    other = pinned(1, CPUS, None)
    assert [one.places, other.places] == [[CPUS[0]], [CPUS[1]]]


def test_machines_that_have_to_be_pinned_share_cpus_evenly(caplog: pytest.LogCaptureFixture) -> None:
    found = [pinned(1, [3, 5, 8], True) for _ in range(7)]
    assert [one.places for one in found] == [[3], [5], [8], [3], [5], [8], [3]]
    found[1].claims.release()
    assert pinned(2, [3, 5, 8], True).places == [5, 8]
    assert len(caplog.records) == 1


def elsewhere(processors: int, cpus: list[int]) -> int:
    """Return the CPU that another process would pin the first processor to."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, bytes([pinned(processors, cpus, None).places[0] or 0]))
        os._exit(0)
    os.wait()
    with open(read, "rb") as file:
        os.close(write)
        return file.read()[0]


def test_named_cpus_are_claimed_for_other_processes(caplog: pytest.LogCaptureFixture) -> None:
    cpus = [3, 5, 8]
    named = [pinned(2, cpus, (3, 3)), pinned(1, cpus, (3,))]
    assert [one.places for one in named] == [[3, 3], [3]]
    assert elsewhere(1, cpus) == 5
    found = [pinned(1, cpus, None) for _ in range(3)]
    assert [one.places for one in found] == [[3], [5], [8]]
    named[0].claims.release()
    assert elsewhere(1, cpus[1:]) == 0
    assert not caplog.records


def test_measurements_are_pinned_to_the_first_cpus_in_any_case(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(script, len(CPUS))
    monkeypatch.setenv("SMP_PIN", "0")
    with smp.host(1, pin=measuring_cpus(1)) as machine:
        assert places(machine) == [CPUS[:1]]
    assert measuring_cpus(len(CPUS)) == CPUS
    assert measuring_cpus(len(CPUS) + 1) is False


@pytest.mark.parametrize("times", [50, *campaigns(200)])
def test_machines_that_are_opened_by_threads_run_on_different_cpus(times: int) -> None:
    """The threads open and close them all the time."""

    def open_and_close(_: int) -> list[int | None]:
        found = [pinned(1, range(100), None) for _ in range(8)]
        taken = [one.places[0] for one in found]
        for one in found:
            one.claims.release()
        return taken if len(set(taken)) == 8 else []

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert all(threads.map(open_and_close, range(times)))


def test_machines_share_the_only_cpu(caplog: pytest.LogCaptureFixture) -> None:
    with restricted(CPUS[:1]), smp.host(1) as one, smp.host(1) as other:
        assert places(one) == places(other) == [CPUS[:1]]
        assert one.size == 1
    assert not caplog.records


@several
def test_machines_stay_within_the_affinity_of_their_process(script: Script) -> None:
    with restricted(CPUS[1:2]), smp.host(1) as machine:
        assert places(machine) == [CPUS[1:2]]
        assert opened(script)[1] == [CPUS[1:2]]
    assert pinned(1, CPUS[1:], None).places == CPUS[1:2]


@pytest.mark.parametrize("pin", [None, True, CPUS[:1]])
def test_pinning_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, pin: Any) -> None:
    monkeypatch.setenv("SMP_PIN", "0")
    allowed = sorted(os.sched_getaffinity(0))
    with smp.host(1, pin=pin) as machine:
        assert places(machine) == [allowed if pin is None else CPUS[:1]]


def test_other_values_of_the_variable_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_PIN", "1")
    assert pinned(1, [3], None).places == [3]
    monkeypatch.setenv("SMP_PIN", "no")
    with pytest.raises(ValueError, match="SMP_PIN must be 0 or 1, not 'no'"):
        smp.host(1)


@several
def test_a_forked_copy_of_the_process_holds_no_claims() -> None:
    first = pinned(1, CPUS, None)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    first.claims.release()
    free = pinned(1, CPUS, None).places
    os.close(read)
    os.close(write)
    os.waitpid(pid, 0)
    assert free == CPUS[:1]


@several
def test_a_forked_copy_does_not_release_the_claims_of_its_parent() -> None:
    first = pinned(1, CPUS, None)
    pid = os.fork()
    if pid == 0:
        first.claims.release()
        os._exit(pinned(1, CPUS, None).places != [CPUS[1]])
    assert os.waitpid(pid, 0)[1] == 0
    assert pinned(1, CPUS, None).places == [CPUS[1]]


@pytest.mark.parametrize("flaw", ["file", "link", "others", "absent"])
def test_without_a_safe_folder_machines_are_pinned_as_if_alone(
    claims: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, flaw: str
) -> None:
    if flaw == "file":
        claims.write_text("")
    elif flaw == "link":
        (claims.parent / "elsewhere").mkdir()
        claims.symlink_to("elsewhere")
    elif flaw == "others":
        claims.mkdir()
        claims.chmod(0o777)
    else:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(claims / "absent"))
    with pytest.raises(OSError):  # noqa: PT011
        folder()
    assert [pinned(1, CPUS, None).places for _ in range(2)] == [CPUS[:1]] * 2
    with smp.host(1) as machine:
        assert places(machine) == [CPUS[:1]]
    assert not caplog.records


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_that_cannot_be_written_is_as_none(claims: Path) -> None:
    claims.mkdir(0o500)
    assert [pinned(1, CPUS, None).places for _ in range(2)] == [CPUS[:1]] * 2


def test_the_folder_is_the_users_own(claims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = folder()
    assert found == claims
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert folder().stat().st_uid == os.geteuid()
