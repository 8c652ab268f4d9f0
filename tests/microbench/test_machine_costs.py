"""The costs of machines are those that their files state, and lie in one figure."""

import json
import math
from pathlib import Path

import pytest

import smp
from smp._commands import costs as command
from smp.microbench import costs_of_machines


def test_costs_follow_from_the_numbers_of_a_machine_file() -> None:
    found = costs_of_machines("flat", operations=["barrier", "copy", "superstep"], sizes=[100, 1100])
    flat = {(one.operation, one.n): one.seconds for one in found.costs}
    barrier = flat["barrier", 0]
    for n in (100, 1100):  # a byte takes 0.1 ns, and a superstep has three barriers
        assert flat["copy", n] == pytest.approx(3 * barrier + 8 * n * 0.1e-9)
        assert flat["superstep", n] == pytest.approx(3 * barrier + 2 * 8 * n * 0.1e-9)


def test_the_machine_with_a_barrier_in_hardware_has_the_cheapest_one() -> None:
    found = costs_of_machines("cm5", "paragon", "atm", operations=["barrier"])
    cm5, paragon, atm = (one.seconds for one in found.costs)
    assert cm5 < paragon < atm
    assert atm > 10 * cm5, "the thesis: barriers vary by orders of magnitude"


def test_a_program_that_a_machine_cannot_run_is_left_out_with_the_reason() -> None:
    found = costs_of_machines("cm5", "powerchallenge", processors=2, operations=["ranking"], sizes=[10])
    without, with_memory = found.costs
    assert math.isnan(without.seconds)
    assert "share no memory" in without.why
    assert with_memory.seconds > 0
    assert "cm5, ranking: its processors share no memory" in str(found)
    assert [one.name for one in found.figure().panels[0].series] == ["powerchallenge"]
    assert found.to_json()["costs"][0]["seconds"] is None


def test_all_machines_are_on_one_pair_of_axes() -> None:
    found = costs_of_machines("cm5", "alewife", operations=["barrier", "copy"], sizes=[1, 10])
    bars, lines = found.figure().panels
    assert list(bars.y.names) == ["cm5", "alewife"]
    assert [(one.name, one.x) for one in lines.series] == [("cm5", [1, 10]), ("alewife", [1, 10])]
    assert [one.y for one in lines.series] == [
        [one.seconds for one in found.of("copy", name)] for name in found.machines
    ]


def test_machines_of_the_same_name_are_distinguished() -> None:
    found = costs_of_machines("flat", "flat", operations=["barrier"])
    assert found.machines == ("flat", "flat (2)")
    assert len({one.seconds for one in found.costs}) == 1


def test_wrong_arguments_are_errors() -> None:
    with pytest.raises(ValueError, match="no machine was given"):
        costs_of_machines()
    with pytest.raises(ValueError, match="no operation 'sum': choose from barrier, copy"):
        costs_of_machines("flat", operations=["sum"])
    with pytest.raises(ValueError, match="sizes must be numbers from 1 up"):
        costs_of_machines("flat", sizes=[0])
    with pytest.raises(smp.MachineFileError, match="nowhere"):
        costs_of_machines("nowhere", operations=["barrier"])


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["flat", "cm5", "-p", "2", "--only", "copy", "--sizes", "1,1e2", "--json"]
    assert command.main([*words, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert {(one["machine"], one["n"]) for one in json.loads(told.out)["costs"]} == {
        (machine, n) for machine in ("flat", "cm5") for n in (1, 100)
    }
    assert (tmp_path / "costs-of-machines.png").exists()
    assert command.main(["nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["flat", "--sizes", "0"])
