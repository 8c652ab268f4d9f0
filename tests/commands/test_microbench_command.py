"""The command ``python -m smp.microbench``: its output, its files and its exit statuses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smp._computer.documents import Record
from smp.microbench import actions, measuring
from smp.microbench import command as cli
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import MODES, Measurement, Stopped
from smp.microbench.report import page
from smp.microbench.sections import SECTIONS
from smp.profiles.profile import Profile


@pytest.fixture(autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("SMP_DATA_DIR", str(folder))
    return folder


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "smp.microbench", *arguments], cwd=cwd, capture_output=True, text=True, timeout=180
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the synchronisation section was measured."""
    folder = tmp_path_factory.mktemp("measured")
    done = command("--quick", "--only", "synchronisation", "-p", "1,2", "--seed", "7", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder


def test_the_measurements_are_printed_and_written(measured: Path) -> None:
    report = measured / "smp-report"
    assert {"profile.json", "samples.npz"} <= {file.name for file in report.iterdir()}
    profile = json.loads((report / "profile.json").read_text())
    assert profile["format"] == "smp-profile"
    assert profile["conditions"]["seed"] == 7
    assert profile["conditions"]["processors"] == [1, 2]
    assert profile["conditions"]["interrupted"] is False
    assert "synchronisation" in profile
    assert "latency" not in profile
    assert "fetch-add alone" in (measured / "stdout").read_text()
    with np.load(report / "samples.npz") as samples:
        assert samples.files


def test_a_saved_profile_is_opened_again_without_measuring(measured: Path) -> None:
    before = (measured / "smp-report/profile.json").read_bytes()
    start = time.monotonic()
    done = command("--profile", "smp-report", "--no-plots", cwd=measured)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (measured / "stdout").read_text()
    assert time.monotonic() - start < 30
    assert (measured / "smp-report/profile.json").read_bytes() == before


def test_a_report_is_printed_to_an_ascii_output(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = command("--profile", "smp-report", "--no-plots", cwd=measured)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "fetch-add alone" in done.stdout


def test_json_is_the_profile_and_nothing_else(measured: Path) -> None:
    done = command("--profile", "smp-report", "--json", "--no-plots", cwd=measured)
    assert json.loads(done.stdout) == json.loads((measured / "smp-report/profile.json").read_text())


def test_measuring_one_section_adds_it_to_the_given_profile(measured: Path, tmp_path: Path) -> None:
    file = measured / "smp-report/profile.json"
    done = command(
        "--profile",
        str(file),
        "--quick",
        "--only",
        "retries",
        "-p",
        "1",
        "--out",
        str(tmp_path),
        "--no-plots",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    added = json.loads((tmp_path / "profile.json").read_text())
    assert added["synchronisation"] == json.loads(file.read_text())["synchronisation"]
    assert added["retries"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--only", "weather"], "no section 'weather': choose from placement"),
        (["-p", "two"], "'two' is not a list of whole numbers"),
        (["-p", "0"], "the number of processors must be from 1 to"),
        (["-p", "nan"], "'nan' is not a list of whole numbers"),
        (["--seed", "-1"], "'-1' is not a seed"),
        (["--quick", "--full"], "not allowed with argument"),
        (["--swift"], "unrecognized arguments"),
    ],
)
def test_usage_errors_say_what_is_wrong_and_exit_with_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2
    assert says in capsys.readouterr().err


def test_help_has_examples_and_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in ((["--help"], "python -m smp.microbench --quick  "), (["--version"], "smp 0.1.0")):
        with pytest.raises(SystemExit) as exit_:
            cli.main(arguments)
        assert exit_.value.code == 0
        assert says in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", '{"format": "other"}'])
def test_a_file_that_is_not_a_profile_is_an_error_before_any_work(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.json").write_text(text)
    assert cli.main(["--profile", str(tmp_path / "p.json"), "--out", str(tmp_path / "out")]) == 1
    assert "error:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_reported_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    start = time.monotonic()
    assert cli.main(["--quick", "--out", str(tmp_path / "file/out")]) == 1
    assert "error:" in capsys.readouterr().err
    assert time.monotonic() - start < 5


def test_a_profile_of_another_machine_is_used_with_a_warning(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads((measured / "smp-report/profile.json").read_text())
    data["machine"] |= {"name": "elsewhere", "cpu": "R10000"}
    Profile(data).save(tmp_path / "p.json")
    assert cli.main(["--profile", str(tmp_path / "p.json"), "--no-plots", "--out", str(tmp_path)]) == 0
    assert "another machine, elsewhere (R10000" in capsys.readouterr().err.replace("\n", " ")


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_ctrl_c_ends_the_measurement_and_leaves_a_profile_and_no_process(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "smp.microbench", "--only", "access", "-p", "2", "--no-plots"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "smp-report").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert json.loads((tmp_path / "smp-report/profile.json").read_text())["conditions"]["interrupted"] is True
    assert "Traceback" not in err
    deadline = time.monotonic() + 5  # the parent of the workers notices a moment later that its own parent has ended
    while _group_lives(running.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _group_lives(running.pid)


def test_ctrl_c_keeps_the_earlier_sections_and_the_measured_part_of_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def probe(self: Campaign, name: str) -> Callable[..., Measurement]:
        def measure(tick: Callable[[float, str], None]) -> Measurement:
            section = Measurement(Record(valid=True, why=[], of=name), {name: np.arange(3)})
            if name == "bandwidth":
                raise Stopped(name, section)
            return section

        return measure

    monkeypatch.setattr(Campaign, "_probe", probe)
    monkeypatch.setattr(actions.report, "whole", lambda profile: [])
    monkeypatch.setattr(page, "page_of", lambda profile, samples: "")
    assert cli.main(["--quick", "--out", str(tmp_path), "--no-plots"]) == 130
    profile = json.loads((tmp_path / "profile.json").read_text())
    assert (profile["latency"]["of"], profile["bandwidth"]["of"]) == ("latency", "bandwidth")
    assert "synchronisation" not in profile
    with np.load(tmp_path / "samples.npz") as samples:
        assert sorted(samples.files) == ["bandwidth", "latency", "placement"]
    assert "saving the results so far" in capsys.readouterr().err


def test_every_section_has_a_time_in_every_mode() -> None:
    assert {len(section.seconds) for section in SECTIONS.values()} == {len(MODES)}
    assert all(0 < quick < default < full for quick, default, full in (s.seconds for s in SECTIONS.values()))


def test_default_processors_are_powers_of_two_up_to_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for cpus, expected in ((1, (1,)), (2, (1, 2)), (3, (1, 2)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8))):
        monkeypatch.setattr(measuring, "usable_cpus", lambda n=cpus: list(range(n)))
        assert measuring.default_processors() == expected


STORED = str(Path(__file__).parents[2] / "examples" / "what_if.json")


def test_two_profiles_are_compared_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--compare", STORED, STORED]) == 0
    printed = capsys.readouterr().out
    assert "a: workstation (a made-up processor, 4 CPUs)" in printed
    assert "In short" in printed
    assert cli.main(["--compare", STORED, STORED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"]
    assert all(row["a"] == row["b"] for row in found["rows"])
    assert {each["faster"] for each in found["foretold"]} == {""}


def made_slower(folder: Path, conditions: dict[str, Any]) -> str:
    """Write two profiles with p95 close to each time, the second with slower memory; return the path of the second."""
    for name, slow in (("base", 1.0), ("slow", 1.5)):
        data = json.loads(Path(MEASURED).read_text()) | {"conditions": conditions}
        for curve in ("levels", "random", "page_local", "huge", "shared", "stride"):
            for row in data["latency"][curve]:
                row |= {"ns": slow * row["ns"], "p95_ns": 1.01 * slow * row["ns"], "valid": True}
        (folder / name).mkdir()
        (folder / name / "profile.json").write_text(json.dumps(data))
    return str(folder / "slow")


def test_a_comparison_fails_above_the_given_percentage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = made_slower(tmp_path, {})
    both = ["--compare", str(tmp_path / "base"), slow]
    assert cli.main(both) == 0
    assert cli.main([*both, "--fail-above", "60"]) == 0
    assert "different and slower" not in capsys.readouterr().err
    assert cli.main([*both, "--fail-above", "40", "--json"]) == 3
    printed = capsys.readouterr()
    slower = [row for row in json.loads(printed.out)["rows"] if row["told"] == "slower"]
    assert {row["section"] for row in slower} == {"latency"}
    assert f"{len(slower)} figures are different and slower by more than 40%" in " ".join(printed.err.split())
    assert cli.main(["--compare", *reversed(both[1:]), "--fail-above", "0"]) == 0  # faster is not slower


def test_a_comparison_without_a_valid_figure_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = made_slower(tmp_path, {"clean_fraction": 0.3})
    both = ["--compare", str(tmp_path / "base"), slow]
    assert cli.main(both) == 0
    assert cli.main([*both, "--fail-above", "40"]) == 1
    assert "no figure is valid in both profiles" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--fail-above", "5"], "goes only with --compare"),
        (["--compare", STORED], "needs two profiles or more"),
        (["--compare", STORED, STORED, "--fail-above", "-5"], "a number from 0"),
        (["--compare", STORED, STORED, "--fail-above", "much"], "'much' is not a percentage"),
    ],
)
def test_a_comparison_with_wrong_options_is_a_usage_error(
    wrong: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(wrong)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_the_charges_of_a_program_are_printed_price_by_price(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--impact", "radix,1e5,4", "--profile", STORED]) == 0
    assert (
        "Halving the price of the barrier saves 22.0% of the time of radix sort at n = 100,000, p = 4"
        in capsys.readouterr().out
    )
    assert cli.main(["--impact", "radix,1e5,4", "--profile", STORED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernel"], found["n"], found["p"]) == ("radix", 100_000, 4)
    assert sum(price["share"] for price in found["prices"]) == pytest.approx(1)
    assert cli.main(["--impact", "radix,1e5,4"]) == 1, "no profile of this machine was measured"
    assert "no profile of this machine" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("text", ["radix", "radix,1e5", "radix,many,2", "radix,inf,2", "bubble,10,2"])
def test_an_impact_that_cannot_be_parsed_is_a_usage_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--impact", text])
    assert ended.value.code == 2
    assert "KERNEL,N,P such as radix,1e5,2" in capsys.readouterr().err or text.startswith("bubble")


MEASURED = str(Path(__file__).parents[1] / "data" / "profile" / "quick.json")


@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning")
@pytest.mark.parametrize(
    ("what", "title", "shown", "raw"),
    [
        (["--profile", MEASURED, "--no-plots"], "Memory latency: Levels", "| L1 | 1.04 |", "L1,1.0443,"),
        (
            ["--compare", MEASURED, MEASURED],
            "Memory latency",
            "| DRAM, huge pages | ns | 115 |",
            '"DRAM, huge pages",ns,115.23',
        ),
        (
            ["--impact", "radix,1e5,4", "--profile", STORED],
            "By price",
            "| barrier | the barrier |",
            "barrier,the barrier,",
        ),
    ],
    ids=["report", "comparison", "impact"],
)
def test_tables_are_printed_as_csv_and_markdown(
    what: list[str], title: str, shown: str, raw: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*what, "--csv"]) == 0
    found = capsys.readouterr().out
    assert f"\n# {title}\n" in found
    assert raw in found
    assert cli.main([*what, "--markdown"]) == 0
    found = capsys.readouterr().out
    assert f"\n**{title.rpartition(': ')[2]}**\n" in found
    assert shown in found


def test_a_report_is_printed_in_one_format_only() -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--profile", STORED, "--csv", "--markdown"])
    assert ended.value.code == 2
