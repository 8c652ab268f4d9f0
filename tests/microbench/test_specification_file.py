"""One specification file gives each computer its own measurement."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT

import smp
from smp._computer.documents import Record
from smp.microbench import command
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import Measurement, Plan, PlanError
from smp.microbench.sections import SECTIONS
from smp.microbench.specification_file import Computer, requested
from smp.profiles.profile import Profile

SMALL, LARGE = Computer("ada", "Z80", 2), Computer("node7", "AMD EPYC 7B13", 32)
TEXT = """
mode = "quick"
processors = [1, 2, 4, "cpus"]
seed = 3

[sections.latency]
[sections.synchronisation]
processors = [4]
seed = 5

[[platforms]]
cpus = 16
processors = [1, 16]
budget_s = 60.0

[[platforms]]
name = "node*"
cpu = "AMD *"
sections.latency.mode = "full"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "all.toml").write_text(TEXT)
    return tmp_path / "all.toml"


def test_each_computer_gets_the_entries_that_hold_for_it(file: Path) -> None:
    small = requested(file, SMALL)
    assert (small.mode, small.processors, small.seed, small.budget_s) == ("quick", (1, 2), 3, None)
    assert small.sections == {"latency": {}, "synchronisation": {"processors": (2,), "seed": 5}}
    large = requested(file, LARGE)
    assert (large.mode, large.processors, large.budget_s) == ("quick", (1, 16), 60.0)
    assert large.sections == {"latency": {"mode": "full"}, "synchronisation": {"processors": (4,), "seed": 5}}
    assert requested(file, Computer("node7", "Z80", 32)).sections["latency"] == {}, "all conditions must hold"


def test_more_processors_than_cpus_need_a_word(file: Path) -> None:
    file.write_text("processors = [1, 8]\noversubscribed = true")
    assert requested(file, SMALL).processors == (1, 8)
    file.write_text("processors = [8]")
    assert requested(file, SMALL).processors == (2,)
    file.write_text("")
    assert requested(file, SMALL) == type(requested(file, SMALL))(file="all.toml"), "an empty file asks for the default"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mode = 'fast'", "mode is 'fast'"),
        ("modes = 'full'", "modes"),
        ("[sections.speed]", "a section 'speed', which is not one of placement, latency"),
        ("[[platforms]]\ncpus = 0", r"platforms\[0\].cpus is 0"),
        ("processors = ['all']", "processors"),
        ("mode = ", "cannot read the specification file"),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_it(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(PlanError, match=message):
        requested(file, SMALL)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="there is no specification file at"):
        requested(tmp_path / "none.toml")


def test_the_example_holds_on_every_computer() -> None:
    for here in (SMALL, LARGE):
        found = requested(ROOT / "examples" / "measurements.toml", here)
        assert set(found.sections) >= {"placement", "synchronisation", "access", "sorting"}
        assert max(found.processors) <= here.cpus


def test_sections_are_measured_with_their_own_parameters(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    used: dict[str, Plan] = {}

    def part(self: Any, module: str, name: str) -> Any:
        def measure(plan: Plan, tick: Any) -> Measurement:
            used[self.name] = plan
            return Measurement(Record(), {})

        return measure

    monkeypatch.setattr(type(SECTIONS["latency"]), "part", part)
    monkeypatch.setattr(Campaign, "look", lambda self, when: [])
    monkeypatch.setattr(Computer, "here", lambda: LARGE)
    file.write_text(TEXT.replace("budget_s = 60.0", ""))
    profile = smp.measure(specification=file, out=tmp_path / "report")
    assert list(used) == ["latency", "synchronisation"]
    assert (used["latency"].mode, used["latency"].processors, used["latency"].seed) == ("full", (1, 16), 3)
    assert (used["synchronisation"].mode, used["synchronisation"].processors) == ("quick", (4,))
    assert used["synchronisation"].seed == 5
    said = " ".join(capsys.readouterr().err.split())
    assert "all.toml: mode quick, processors 1, 16, seed 3; sections: latency (mode full)" in said
    conditions = profile.data["conditions"]
    assert conditions["specification"] == {
        "file": "all.toml",
        "sections": {"latency": {"mode": "full"}, "synchronisation": {"processors": [4], "seed": 5}},
    }
    stored = json.loads((tmp_path / "report" / "profile.json").read_text())
    assert stored["conditions"]["specification"] == conditions["specification"]


def test_options_that_the_file_replaces_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--spec", str(file), "--quick", "--only", "latency"])
    assert "the file says what --quick or --full and --only would say" in capsys.readouterr().err
    with pytest.raises(ValueError, match="do not go with a specification file"):
        smp.measure(specification=file, quick=True)
    file.write_text("mode = 'fast'")
    assert command.main(["--spec", str(file)]) == 1
    assert "mode is 'fast'" in " ".join(capsys.readouterr().err.split())


def test_a_profile_of_an_interrupted_measurement_belongs_to_its_parameters(file: Path, tmp_path: Path) -> None:
    def begun(text: str) -> list[str]:
        file.write_text(text)
        made = Campaign(Plan("quick", (1,), 1, 64), request=requested(file, SMALL))
        done = made.begin(["latency", "bandwidth"], tmp_path)
        made.profile.data["unfinished"]["done"] = ["latency"]
        Profile.save(made.profile, tmp_path / "profile.json")
        return done

    assert begun("[sections.latency]\nseed = 1") == []
    assert begun("[sections.latency]\nseed = 1") == ["latency"]
    assert begun("[sections.latency]\nseed = 2") == [], "other parameters begin another measurement"
