"""Interrupted commands: whatever ends one, its finished results are kept, and the same command resumes the rest."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import ROOT

from smp._computer import commands
from smp._computer.documents import Record
from smp.errors import MachineError
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import Measurement, Plan
from smp.microbench.method.samples import samples_of
from smp.perturb import Trials
from smp.profiles.profile import Profile

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
ONE_END = [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]

MAIN_JOB = """
import os, sys, time
from pathlib import Path
import numpy as np
from smp._computer import commands
from smp._output.table import Part, Table
from smp.microbench import campaign
from smp.microbench.report import whole_report as sections
from smp._computer.documents import Record
from smp.microbench.method.plan import Measurement

def probe(self, name):
    def measure(tick):
        with open("measured", "a") as file:
            file.write(name + " ")
        while name == "synchronisation" and not Path("go").exists():
            time.sleep(0.01)
            tick(0.5, "waiting")
        return Measurement(Record(valid=True, why=[]), {name: np.arange(3)})
    return measure

campaign.Campaign._probe = probe
sections.whole = lambda profile: [Part("", [Table(notes=["the report"])])]
sys.argv[1:] = ["--quick", "--only", "latency,bandwidth,synchronisation,chain", "--out", "out", "--no-plots"]
commands.run("smp.microbench.command")
"""

CALIBRATION = """
import sys, time
from pathlib import Path
from smp._computer import commands
from smp.selection.implementation import Implementation
from smp.selection.library import Library
from smp.microbench.calibration import kernels as calibration
from smp.selection import calibration as calibrating
from smp.selection import timings
from smp._runtime.host import looking

looking.look = lambda: float("nan")

def made_up(name):
    def task(n):
        with open("measured", "a") as file:
            file.write(name + " ")
        while name == "lists" and len(Path("measured").read_text().split()) == 100 and not Path("go").exists():
            time.sleep(0.01)
        return 1e-6 + 1e-9 * n

    library = Library(name, {"n": "100..1e6 x 8"}, lambda n: (n,))
    library.add(Implementation("only", task, ["n"]))
    return library

timings.timed = lambda call: call()
calibrating.SAVE_S = 0.0
calibration.libraries = lambda kernels: [made_up(name) for name in kernels]
sys.argv[1:] = ["--calibrate", "sort,lists,stencil", "--out", "out", "--no-plots"]
commands.run("smp.microbench.command")
"""

EXPERIMENT = """
import sys
from smp._computer import commands
from smp.perturb.experiments import experiment

experiment.SAVE_S = 0.0
sys.argv[1:] = ["program.py", "--design", "2^2", "--delay", "1us", "--out", "out", "--no-plots"]
commands.run("smp.perturb.command")
"""
PROGRAM = """
import time
from pathlib import Path
from smp.perturb import factor

with open("measured", "a") as file:
    file.write("run ")
while Path("seen").exists() and not Path("go").exists():
    time.sleep(0.01)
for place in ("one", "other"):
    with factor(place):
        pass
"""


STACKS = """
import faulthandler
faulthandler.dump_traceback_later(50, file=open("stacks", "w"))
"""
"""Code that writes the stacks of a command that does not end to the file ``stacks``."""


class Started:
    """A script that runs in its own folder and its own session."""

    def __init__(self, folder: Path, source: str, *, into: int | None = None, controlled: bool = False) -> None:
        self.folder = folder
        (folder / "command.py").write_text(STACKS + source)

        def settle() -> None:
            os.setsid()
            for number in ENDS[:-1]:
                signal.signal(number, signal.SIG_DFL)  # as in a terminal, however the tests were started
            if into is not None and controlled:
                fcntl.ioctl(into, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [sys.executable, "command.py"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SMP_DATA_DIR": str(folder / "data")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if into is None else into,
            stderr=subprocess.PIPE if into is None else into,
            text=True,
            preexec_fn=settle,
        )

    def wait_for(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not seen():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self) -> tuple[int, str, str]:
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail("it does not end; where it is:\n" + (self.folder / "stacks").read_text())
        return self.process.returncode, out, err


def measured(folder: Path) -> list[str]:
    file = folder / "measured"
    return file.read_text().split() if file.exists() else []


def status_of(number: int) -> int:
    return -number if number == signal.SIGKILL else 128 + number


@pytest.mark.parametrize(
    "number", [pytest.param(one, marks=[] if one == signal.SIGKILL else pytest.mark.slow) for one in ENDS]
)
def test_the_main_job_keeps_its_finished_sections_and_resumes(tmp_path: Path, number: int) -> None:
    command = Started(tmp_path, MAIN_JOB)
    command.wait_for(lambda: "synchronisation" in measured(tmp_path))
    os.killpg(command.process.pid, number)
    status, out, err = command.end()
    assert status == status_of(number)
    assert "Traceback" not in err
    if number != signal.SIGKILL:
        assert "run the same command again to continue" in " ".join(err.split())
        assert "the report" in out
    data = json.loads((tmp_path / "out/profile.json").read_text())
    assert {"latency", "bandwidth"} < set(data)
    assert not {"synchronisation", "chain"} & set(data)
    assert data["conditions"]["interrupted"] is True
    with np.load(tmp_path / "out/samples.npz") as samples:
        assert sorted(samples.files) == ["bandwidth", "latency", "placement"]

    (tmp_path / "go").touch()
    (tmp_path / "measured").unlink()
    status, _, err = Started(tmp_path, MAIN_JOB).end()
    assert status == 0
    assert "resuming the measurement of" in " ".join(err.split())
    assert "latency, bandwidth done" in " ".join(err.split())
    assert measured(tmp_path) == ["synchronisation", "chain"]
    whole = json.loads((tmp_path / "out/profile.json").read_text())
    assert whole["conditions"]["interrupted"] is False
    assert "unfinished" not in whole
    assert whole["created"] == data["created"]
    with np.load(tmp_path / "out/samples.npz") as samples:
        assert sorted(samples.files) == ["bandwidth", "chain", "latency", "placement", "synchronisation"]
    assert not [file for file in (tmp_path / "out").iterdir() if file.name.startswith(".")]


@pytest.mark.slow
def test_a_complete_measurement_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    for _ in range(2):
        status, _, err = Started(tmp_path, MAIN_JOB).end()
        assert (status, "going on" in err) == (0, False)
    assert len(measured(tmp_path)) == 8


def test_a_different_measurement_starts_from_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(plan: Plan, sections: Sequence[str], base: Profile | None = None) -> list[str]:
        """Measure one section and be interrupted in the next; return the sections that were found at the beginning."""
        campaign = Campaign(plan, base)
        found = campaign.begin(sections, tmp_path)
        count = [0]

        def probe(name: str) -> Callable[..., Measurement]:
            def measure(tick: Any) -> Measurement:
                count[0] += 1
                if count[0] > 1:
                    raise KeyboardInterrupt
                return Measurement(Record(of=name), {})

            return measure

        monkeypatch.setattr(campaign, "_probe", probe)
        with pytest.raises(KeyboardInterrupt):
            campaign.measure(lambda done, text: None)
        campaign.save()
        return found

    plan, sections = Plan("quick", (1, 2), 1, 64), ("latency", "bandwidth", "chain")
    assert interrupted(plan, sections) == []
    assert interrupted(plan, sections) == ["latency"]
    assert interrupted(plan, sections[:2]) == []
    assert interrupted(Plan("quick", (1, 2), 2, 64), sections) == []
    assert interrupted(Plan("full", (1, 2), 2, 64), sections) == []
    assert interrupted(Plan("full", (1,), 2, 64), sections) == []
    assert interrupted(Plan("full", (1,), 2, 64), sections, Profile({"created": "earlier"})) == []
    assert interrupted(Plan("full", (1,), 2, 64), sections, Profile({"created": "earlier"})) == ["latency"]
    for key, damage in (("unfinished", 5), ("unfinished", {}), ("conditions", None), ("machine", {})):
        assert interrupted(plan, sections) in ([], ["latency"])
        data = json.loads((tmp_path / "profile.json").read_text())
        (tmp_path / "profile.json").write_text(json.dumps({**data, key: damage}))
        assert interrupted(plan, sections) == []


def test_the_profile_is_kept_if_the_disk_is_too_full_for_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    campaign = Campaign(Plan("quick", (1,), 1, 64))
    campaign.begin(["latency"], tmp_path)
    campaign.profile.data["latency"] = {"of": "latency"}
    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        campaign.save()
    kept = Profile.load(tmp_path)
    assert kept.data["latency"] == {"of": "latency"}
    assert samples_of(kept) == {}
    assert [file.name for file in tmp_path.iterdir()] == ["profile.json"]


@pytest.mark.parametrize("number", ONE_END)
def test_a_calibration_keeps_its_finished_libraries_and_resumes(tmp_path: Path, number: int) -> None:
    command = Started(tmp_path, CALIBRATION)
    command.wait_for(lambda: len(measured(tmp_path)) == 100)
    os.killpg(command.process.pid, number)
    status, _, err = command.end()
    assert status == status_of(number)
    assert "Traceback" not in err
    data = json.loads((tmp_path / "out/calibration.json").read_text())
    assert (set(data["libraries"]), data["interrupted"]) == ({"sort"}, True)
    (kept,) = (tmp_path / "data").glob("calibration-*.json")
    assert set(json.loads(kept.read_text())["libraries"]) == {"sort"}
    before = measured(tmp_path)

    (tmp_path / "go").touch()
    status, out, err = Started(tmp_path, CALIBRATION).end()
    assert status == 0, err
    assert "3 models of 3 libraries" in out
    after = measured(tmp_path)[len(before) :]
    assert "sort" not in after
    assert after.count("stencil") == before.count("sort")
    assert after.count("lists") + before.count("lists") <= before.count("sort") + 1, "only the last is timed again"
    assert json.loads((tmp_path / "out/calibration.json").read_text())["interrupted"] is False


@pytest.mark.parametrize("number", ONE_END)
def test_an_experiment_keeps_its_trials_and_resumes(tmp_path: Path, number: int) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    kept = tmp_path / "out/interrupted.json"

    def trials() -> list[list[float]]:
        return list(json.loads(kept.read_text())["rows"]) if kept.exists() else []

    command = Started(tmp_path, EXPERIMENT)
    command.wait_for(lambda: len(trials()) >= 3)
    (tmp_path / "seen").touch()
    time.sleep(0.1)
    os.killpg(command.process.pid, number)
    status, _, err = command.end()
    assert status == status_of(number)
    assert "Traceback" not in err
    rows = trials()
    assert 3 <= len(rows) < 12
    (tmp_path / "go").touch()
    status, out, err = Started(tmp_path, EXPERIMENT).end()
    assert status == 0, err
    assert "2^2" in out
    table = Trials.load(tmp_path / "out/trials.json").table
    assert len(table) == 12
    assert table["time"][: len(rows)].tolist() == [row[0] for row in rows], "finished trials are not run again"
    assert not kept.exists()


@pytest.mark.parametrize("controlled", [True, False])
def test_a_measurement_stops_early_only_if_its_controlling_terminal_closes(tmp_path: Path, controlled: bool) -> None:
    """The controlling terminal sends SIGHUP. With another terminal only writing fails, and the measurement goes on."""
    ours, theirs = pty.openpty()
    command = Started(tmp_path, MAIN_JOB, into=theirs, controlled=controlled)
    os.close(theirs)
    command.wait_for(lambda: "synchronisation" in measured(tmp_path))
    os.close(ours)
    if not controlled:
        time.sleep(0.3)  # the progress bar is drawn meanwhile
        (tmp_path / "go").touch()
    status, _, _ = command.end()
    assert status == (128 + signal.SIGHUP if controlled else 1)
    data = json.loads((tmp_path / "out/profile.json").read_text())
    assert data["conditions"]["interrupted"] is controlled
    assert ("chain" in data) is not controlled


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """The command runs as it would under nohup."""
    command = Started(tmp_path, "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + MAIN_JOB)
    command.wait_for(lambda: "synchronisation" in measured(tmp_path))
    os.killpg(command.process.pid, signal.SIGHUP)
    (tmp_path / "go").touch()
    assert command.end()[0] == 0


def test_sigterm_ends_a_background_job_that_ignores_ctrl_c(tmp_path: Path) -> None:
    command = Started(tmp_path, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + MAIN_JOB)
    command.wait_for(lambda: "synchronisation" in measured(tmp_path))
    os.killpg(command.process.pid, signal.SIGINT)
    os.killpg(command.process.pid, signal.SIGTERM)
    assert command.end()[0] == 128 + signal.SIGTERM
    assert json.loads((tmp_path / "out/profile.json").read_text())["bandwidth"]


def test_a_machine_error_after_a_signal_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal to a process group ends the processors too, so their end is not the cause."""
    with pytest.raises(MachineError), commands.interruptible():
        raise MachineError("killed")
    monkeypatch.setattr(commands, "_ended_by", signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), commands.interruptible():
        raise MachineError("killed")
