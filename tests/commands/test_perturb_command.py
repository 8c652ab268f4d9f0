"""The command ``python -m smp.perturb``: its output, its files and its exit statuses."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support.markup import Markup, file_in
from support.tables import below

from smp.perturb import Trials, command
from smp.perturb.experiments.climbing import Climb

SCRIPT = """
import smp
from smp.perturb import factor

def main(passes=3):
    for _ in range(passes):
        with factor("hot"):
            pass
    with factor("cold"):
        pass
    return {"passes": passes}

def program(proc, passes):
    proc.barrier()
    main(passes)

if __name__ == "__main__":
    print("not to be seen")
    responses = main(40)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in a folder of its own, which is made the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"script_{tmp_path.name}"  # each test has a module of its own
    file = tmp_path / f"{name}.py"
    file.write_text(SCRIPT)
    return file


def run(*arguments: object) -> int:
    return command.main([str(argument) for argument in arguments])


def test_a_script_is_screened_and_the_results_are_printed(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, "--design", "2^2", "--delay", "200us", "--replicates", "2") == 0
    printed = capsys.readouterr()
    for text in (
        "2^2: 2 factors in 4 trials",
        "200000ns",
        "hot",
        "cold",
        "time (",
        "Gain if a place took no time",
        "Next steps",
    ):
        assert text in printed.out
    assert "passes: 40 in all trials" in printed.out
    assert "not to be seen" not in printed.out + printed.err
    folder = program.parent / "smp-perturb"
    assert {file.name for file in folder.iterdir()} == {
        "trials.json",
        "effects-time.json",
        "effects-passes.json",
        "half-normal-time.png",
        "effects-time.png",
        "index.html",
    }
    trials = Trials.load(folder / "trials.json")
    hot = trials.plan.factors.index("hot")
    assert all(row["time"] >= 40 * 200e-6 for row in trials.table if row["levels"][hot] > 0)
    assert trials.met["hot"].passes == 40
    assert trials.about["program"] == str(program)


def test_the_page_has_the_tables_the_figures_and_the_trials(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, "--design", "2^2", "--delay", "200us", "--replicates", "2", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    page = (program.parent / "smp-perturb/index.html").read_text()
    assert json.loads(file_in(page)) == document
    found = Markup(page)
    assert program.name in found.texts["h1"][0]
    assert found.values("figure", "id") == ["figure-half-normal-time", "figure-effects-time"]
    for text in ("hot", "cold", "Gain if a place took no time", "passes: 40 in all trials"):
        assert text in page
    assert run("--trials", "smp-perturb/trials.json") == 0
    assert (program.parent / "smp-perturb/index.html").read_text() == page


def test_a_response_of_any_name_is_written_into_the_folder(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(program.read_text().replace('"passes"', '"../passes"'))
    assert run(program, "--delay", "1us", "--replicates", "2", "--no-plots", "--out", "deep/down") == 0
    assert {file.name for file in (program.parent / "deep/down").iterdir()} == {
        "trials.json",
        "effects-time.json",
        "effects-..%2Fpasses.json",
    }
    assert [file.name for file in (program.parent / "deep").iterdir()] == ["down"]


def test_saved_trials_are_printed_again(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, "--factors", "hot,cold", "--no-plots", "--out", "kept") == 0
    first = capsys.readouterr().out
    program.unlink()
    assert run("--trials", "kept/trials.json") == 0
    assert capsys.readouterr().out == first
    assert run("--trials", "kept/trials.json", "--json", "--responses", "time") == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["analyses"]) == {"time"}
    assert document["trials"]["plan"]["factors"] == ["hot", "cold"]


def test_the_shares_of_a_run_are_listed_next_to_the_passes(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    program.write_text(
        textwrap.dedent(
            """
            from smp.perturb import delay, factor

            def program(proc):
                for _ in range(2):
                    with factor("outer"):
                        proc.work(seconds=3e-6)
                        if proc.rank == 0:
                            with factor("inner"):
                                proc.work(seconds=1e-6)
                delay("point")
                proc.work(seconds=2e-6)
                proc.barrier()
            """
        )
    )
    options = ("--call", "program", "--machine", "emulated:2")
    assert run(program, "--list", *options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    whole = found["inner"]["inside"] / found["inner"]["share"]
    assert found["inner"] == {
        "passes": 2,
        "inside": pytest.approx(2e-6),
        "by": 1,
        "own": pytest.approx(2e-6),
        "share": pytest.approx(2e-6 / whole),
        "own_share": pytest.approx(2e-6 / whole),
    }
    outer = found["outer"]
    assert (outer["passes"], outer["by"]) == (4, 2)
    assert (outer["inside"], outer["own"]) == (pytest.approx(14e-6), pytest.approx(12e-6))
    assert (outer["share"], outer["own_share"]) == (pytest.approx(7e-6 / whole), pytest.approx(6e-6 / whole))
    assert found["point"]["share"] == 0
    assert run(program, "--list", *options) == 0
    printed = capsys.readouterr().out
    assert "itself: without the places inside it" in printed
    assert [line.split()[0] for line in below(printed)][:3] == ["outer", "inner", "point"]
    assert run(program, *options, "--replicates", "2", "--json", "--factors", "outer,inner") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["places"] == found
    assert ">of run<" in (program.parent / "smp-perturb/index.html").read_text().replace("\n", "")


def test_places_are_listed(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(program, "--list") == 0
    lines = [line.split()[:2] for line in below(capsys.readouterr().out)]
    assert lines == [["hot", "40"], ["cold", "1"]]
    assert not (program.parent / "smp-perturb").exists()


def test_functions_are_places_without_a_change_of_the_source(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called = ("--call", "main", "--argument", "5")
    for options, passes in ((), "1"), (called, "1"):
        assert run(program, "--list", "--function", "__main__.main", *options) == 0
        found = {line.split()[0]: line.split()[1] for line in below(capsys.readouterr().out) if "itself:" not in line}
        name = f"{program.stem}.main" if options else "__main__.main"
        assert found == {"hot": "5" if options else "40", "cold": "1", name: passes}
    assert run(program, "--function", f"{program.stem}.main", "--replicates", "2", "--no-plots") == 0
    trials = Trials.load("smp-perturb/trials.json")
    assert trials.plan.factors == ("cold", "hot", f"{program.stem}.main")
    assert trials.about["functions"] == [f"{program.stem}.main"]


def test_a_function_is_called_in_one_process(program: Path) -> None:
    assert run(program, "--call", "main", "--argument", "5", "--work", "100", "--throughput", "passes") == 0
    trials = Trials.load("smp-perturb/trials.json")
    assert trials.met["hot"].passes == 5
    assert trials.about["call"] == "main"
    assert {"passes", "throughput"} <= set(trials.names)
    assert str(trials.plan.treatments["hot"][1]) == "work:100"


def test_an_spmd_program_runs_on_a_machine(program: Path) -> None:
    options = ("--call", "program", "--argument", "4", "--machine", "emulated:3", "--delay", "1us", "--no-plots")
    assert run(program, *options) == 0
    trials = Trials.load("smp-perturb/trials.json")
    assert (trials.met["hot"].by, trials.met["hot"].passes) == (3, 12)
    found = trials.analyse()
    assert found.effect("hot") == pytest.approx(4e-6)
    assert found.effect("cold") == pytest.approx(1e-6)


SPMD = """
import time
import smp
from smp.perturb import factor

def program(proc):
    began = time.monotonic()
    for _ in range(4):
        with factor("all"):
            proc.barrier()
    if proc.rank == 0:
        with factor("first"):
            pass
    return time.monotonic() - began

if __name__ == "__main__":
    with factor("alone"), smp.host(2, start="fork") as machine:
        responses = {"least": min(machine.run(program).results)}
"""


def test_an_array_ranks_trials_by_time_and_shows_the_range_of_other_responses(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = program.read_text().replace("passes}", 'passes, "left": next(calls) % 2}')
    program.write_text("import itertools\ncalls = itertools.count()\n" + text)
    options = ("--call", "main", "--design", "OA9(3^2)", "--treatment", "none,1us,2us", "--replicates", "4")
    assert run(program, *options) == 0
    told = capsys.readouterr().out
    assert "time (s), the shortest first" in told
    assert "passes: 3 in all trials" in told
    assert re.search(r"left: from 0(\.\d+)? in trial \d to (1|0\.\d+) in trial \d, means of the replicates", told)


def test_a_script_that_opens_a_machine_is_screened(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(SPMD)
    assert run(program, "--design", "2^(3-1)", "--delay", "2ms", "--replicates", "2", "--no-plots") == 0
    assert "passes and times: of all processors together" in capsys.readouterr().out
    trials = Trials.load("smp-perturb/trials.json")
    found = {name: (met.passes, met.by) for name, met in trials.met.items()}
    assert found == {"all": (8, 2), "alone": (1, 1), "first": (1, 1)}
    treated = trials.plan.factors.index("all")
    assert all(row["least"] >= 0.008 for row in trials.table if row["levels"][treated] > 0)  # on both processors


def test_an_array_runs_its_trials_and_marks_the_one_without_delays(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--call", "program", "--argument", "1", "--machine", "emulated:2", "--replicates", "1")
    ladder = ("--design", "OA9(3^2)", "--treatment", "none,1us,work:1000")
    assert run(program, *options, *ladder) == 0
    assert "no delays" in capsys.readouterr().out
    assert len(Trials.load("smp-perturb/trials.json").table) == 9


def test_a_ladder_is_climbed_and_its_report_can_be_printed_again(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    options = (
        "--call",
        "program",
        "--argument",
        "4",
        "--machine",
        "emulated:3",
        "--replicates",
        "2",
        "--runs",
        "2",
    )
    assert run(program, *options, "--ladder", "1us,2us,5us", "--responses", "time") == 0
    printed = capsys.readouterr()
    assert "Delays: 1.00 us, 2.00 us, 5.00 us; 48 runs, 2 replicates of all rungs" in printed.out
    lines = printed.out.splitlines()
    assert [line.split()[:4] for line in lines[-2:]] == [["hot", "4", "4", "1.000"], ["cold", "1", "1", "1.000"]]
    assert "written to smp-perturb: ladder.json, ladder.png" in " ".join(printed.err.split())
    assert {file.name for file in Path("smp-perturb").iterdir()} == {"ladder.json", "ladder.png", "index.html"}
    found = Climb.load("smp-perturb/ladder.json")
    assert found.ladders()["hot"].effects == pytest.approx([4e-6, 8e-6, 20e-6])
    assert found.trials.about["call"] == "program"
    assert run("--trials", "smp-perturb/ladder.json", "--responses", "time") == 0
    assert capsys.readouterr().out == printed.out
    assert run("--trials", "smp-perturb/ladder.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ladders"]["hot"]["verdict"] == "linear"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("x.py", "--trials", "y.json"),
        ("x.py", "--design", "2-2"),
        ("x.py", "--design", "OA7(9^9)"),
        ("x.py", "--delay", "soon"),
        ("x.py", "--work", "1.5"),
        ("x.py", "--treatment", "lock,cells"),
        ("x.py", "--delay", "1us", "--work", "3"),
        ("x.py", "--delay", "1us", "--ladder", "1us,2us,3us"),
        ("x.py", "--ladder", "1us,2us,3us", "--blocks", "2"),
        ("x.py", "--ladder", "1us,2us,soon"),
        ("x.py", "--runs", "0"),
        ("x.py", "--factors", "a b,c"),
        ("x.py", "--replicates", "0"),
        ("x.py", "--machine", "host:2"),
        ("x.py", "--call", "main", "--machine", "cloud:2"),
        ("x.py", "--function", "main"),
        ("x.py", "--function", "a b.c"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as left:
        run(*arguments)
    assert left.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--factors", "hot,lukewarm"), "never passes lukewarm; it passes cold, hot"),
        (("--design", "2^5"), "a design of 5 factors cannot take 2: cold, hot"),
        (("--call", "nothing"), "has no function 'nothing'"),
        (("--ladder", "1us,2us,5us"), "at least 2 replicates, not 1"),
        (("--ladder", "1us,lock,5us", "--replicates", "2"), "lock cannot be a rung"),
        (("--ladder", "1us,none,5us", "--replicates", "2"), "None cannot be a rung"),
        (("--call", "main", "--argument", "many"), "'str' object"),
        (("--function", "math.sqrt"), "is a builtin_function_or_method"),
        (("--function", "__main__.maine"), "has no function 'maine'; it has main"),
        (("--function", "textwrap.dedent"), "the program never calls textwrap.dedent"),
    ],
)
def test_requests_that_cannot_be_carried_out_are_reported(
    program: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(program, "--replicates", "1", *arguments) == 1
    assert message in capsys.readouterr().err


def test_the_trials_are_kept_if_a_requested_response_does_not_exist(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(program, "--replicates", "1", "--responses", "weight", "--out", tmp_path) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no response 'weight'; the responses are" in said
    assert f"python -m smp.perturb --trials {tmp_path / 'trials.json'}" in said
    assert run("--trials", tmp_path / "trials.json") == 0


def test_a_missing_script_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "nowhere.py", "--out", tmp_path) == 1
    assert "nowhere.py" in capsys.readouterr().err
    assert run("--trials", tmp_path / "nowhere.json") == 1


@pytest.mark.slow
def test_ctrl_c_saves_the_trials_and_the_same_command_continues(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import time\nfrom smp.perturb import delay\ndelay('a')\ndelay('b')\ntime.sleep(0.1)\n")
    kept = tmp_path / "smp-perturb" / "interrupted.json"
    line = [sys.executable, "-m", "smp.perturb", "slow.py", "--replicates", "7", "--no-plots"]
    root = str(Path(command.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    process = subprocess.Popen(
        line, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not kept.exists():  # the trials are first saved after two seconds
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # to all processes, as a terminal does
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "run the same command again to continue" in " ".join(err.split())
    rows = json.loads(kept.read_text())["rows"]
    assert 0 < len(rows) < 28
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    trials = Trials.load(tmp_path / "smp-perturb" / "trials.json")
    assert trials.table["time"][: len(rows)].tolist() == [row[0] for row in rows]
    assert len(trials.table) == 28
    assert not kept.exists()
