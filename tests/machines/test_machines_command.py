"""The command ``python -m smp.machines``: its tables, its messages and its exit statuses."""

import csv
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine_files import SMALL, changed

from smp.machines import command, load, names


def run(*arguments: object) -> int:
    return command.main([str(argument) for argument in arguments])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def test_show_prints_each_setting_with_its_value_unit_and_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run("show", "cm5") == 0
    printed = capsys.readouterr().out
    assert re.search(r"^message.receive +62  cycles  Brewer 1994, section 6.1.3$", printed, re.MULTILINE)
    assert re.search(r"^clock.hz +33  MHz +Brewer 1994, figure 3-6$", printed, re.MULTILINE)
    assert re.search(r"^network.link_bandwidth +25, 50, 100  MB/s +Brewer", printed, re.MULTILINE)
    assert re.search(
        r"^round_trip.per_hop +14.4  cycles +set +Brewer 1994, figure 6-6; set from it:", printed, re.MULTILINE
    )
    assert re.search(r"^send_and_receive +89  cycles +check", printed, re.MULTILINE)
    assert "Left out: instruction caches" in printed


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", names())
def test_tables_fit_the_screen(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run("show", name) == run("compare", name, "cm5", "mta") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_show_prints_csv_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "cm5", "--csv") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO("\n".join(lines))) if row}
    assert rows["message.receive"] == ["62", "cycles", "Brewer 1994, section 6.1.3"]
    settings = {name for name in load("cm5").sources if not name.startswith("published")}
    assert settings <= set(rows)
    assert run("show", "cm5", "--markdown") == 0
    assert "| message.receive | 62 | cycles | Brewer 1994, section 6.1.3 |" in capsys.readouterr().out


def test_compare_prints_a_column_for_each_machine(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "cm5", "paragon", small) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^setting +unit +cm5 +paragon +small$", printed, re.MULTILINE)
    assert re.search(r"^message.receive +cycles +62 +62.4 +50$", printed, re.MULTILINE)
    assert re.search(r"^control.barrier +cycles +140 +- +-$", printed, re.MULTILINE)
    assert "published" not in printed


def test_tables_of_a_comparison_stay_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "flat", "mta", "alewife", "cm5", "--csv") == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    tables = [line.partition(".")[0].partition(",")[0] for line in lines]
    seen = [table for k, table in enumerate(tables) if k == 0 or tables[k - 1] != table]
    assert len(seen) == len(set(seen)) > 10


def test_check_accepts_a_file_that_is_valid(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", small) == 0
    assert capsys.readouterr().out == f"{small}: valid, 'small' with 16 processors\n"


def test_check_prints_the_fault_of_each_file(tmp_path: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(changed("request = 60", "requset = 60")[0])
    assert run("check", bad, small) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {bad}, line 10: message.requset is not known; did you mean 'request'?")
    assert printed.out == f"{small}: valid, 'small' with 16 processors\n"


@pytest.mark.parametrize("arguments", [("show", "cm6"), ("compare", "cm5", "cm6"), ("check", "cm6")])
def test_a_machine_that_does_not_exist_ends_the_command_with_1(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: there is no machine 'cm6'; did you mean 'cm5'?")


@pytest.mark.parametrize(
    "arguments", [(), ("shw",), ("show",), ("check",), ("compare", "cm5"), ("show", "cm5", "--yaml")]
)
def test_wrong_usage_ends_the_command_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(*arguments)
    assert left.value.code == 2
    assert "usage: python -m smp.machines" in capsys.readouterr().err


def test_the_processes_of_the_command_have_its_exit_statuses(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("name = \n")
    for arguments, code in ((("check", "cm5"), 0), (("check", "bad.toml"), 1), (("check",), 2)):
        done = subprocess.run(
            [sys.executable, "-m", "smp.machines", *arguments], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
    assert done.stderr.startswith("usage: python -m smp.machines check")
