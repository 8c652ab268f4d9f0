"""Data paths: operations of the runtime are places, in programs that name none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smp
from smp.perturb import confirm, counted, delay, placed, screen, treated
from smp.perturb.places.paths import PATHS

Machines = Callable[..., smp.Machine]


def copying(proc: smp.Processor, keys: smp.GlobalArray, sums: smp.GlobalArray) -> int:
    """Read twice and write once in each of two supersteps."""
    for _ in range(2):
        with proc.superstep("sum") as step:
            mine = step.copy_in(keys, proc.block(len(keys)))
            first = step.copy_in(keys, slice(0, 1))
            step.compute()
            step.copy_out(sums, proc.rank, mine.sum() + first[0])
    return int(mine.sum())


def talking(proc: smp.Processor) -> list[int]:
    """Send two messages, one of which is answered."""
    came: list[int] = []
    note = proc.handler(lambda message, x: came.append(x))
    ask = proc.handler(lambda message, x: message.reply(note, x + 1), replies=True)
    to = (proc.rank + 1) % proc.size
    proc.send(to, note, 10)
    proc.request(to, ask, 20)
    proc.wait_until(lambda: len(came) == 2)
    proc.quiet()
    return sorted(came)


def meeting(proc: smp.Processor) -> float:
    """Call collectives that are made of one another, and barriers."""
    proc.barrier()
    total = proc.reduce(proc.rank) + proc.broadcast(5, root=0)
    ticket = proc.split.reduce(1)
    return float(total + ticket.wait() + proc.mean(1.0) + proc.count(True))


def handing(proc: smp.Processor, belt: smp.Cells) -> int:
    """Write and read a cell, from Python."""
    belt.writeef(proc.rank, proc.rank + 1)
    return int(smp.compiled.readfe(belt, proc.rank))


@smp.stream
def in_a_loop(belt: Any, me: int) -> int:
    smp.compiled.writeef(belt, me, 3)
    return int(smp.compiled.readfe(belt, me))


@smp.stream
def placed_in_a_loop(belt: Any, me: int) -> int:
    delay("cells")
    smp.compiled.writeef(belt, me, 3)
    return int(smp.compiled.readfe(belt, me))


def passes(met: Any) -> dict[str, tuple[int, int]]:
    return {name: (one.passes, one.by) for name, one in met.items()}


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines) -> Any:
    if request.param == "host":
        yield machines(2)
    else:
        with smp.emulated(2) as opened:
            yield opened


def test_operations_of_all_paths_are_counted(machine: smp.Machine) -> None:
    keys, sums = machine.array(np.arange(10)), machine.zeros(2, np.int64)
    with placed(paths=list(PATHS)) as names:
        assert names == tuple(PATHS)
        with counted() as met:
            assert machine.run(copying, keys, sums).results == [10, 35]
        assert passes(met) == {"copy_in": (8, 2), "copy_out": (4, 2)}
        with counted() as met:
            assert machine.run(talking).results == [[10, 21], [10, 21]]
        assert passes(met) == {"send": (6, 2), "receive": (6, 2)}
        with counted() as met:
            assert machine.run(meeting).results == [11.0, 11.0]
        assert passes(met) == {"collectives": (8, 2), "barriers": (4, 2)}
        with counted() as met:
            assert machine.run(handing, machine.cells(2)).results == [1, 2]
        assert passes(met) == {"cells": (4, 2)}
    with counted() as met:
        machine.run(copying, keys, sums)
        machine.run(talking)
    assert not met


def test_blocks_that_are_sent_are_counted(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> float:
        port = proc.port(4)
        proc.permute(port, np.full(4, float(proc.rank)), (proc.rank + 1) % proc.size)
        proc.transpose(np.zeros((proc.size, 2)))
        proc.quiet()
        return 0.0

    with placed(paths=["send_block", "collectives"]), counted() as met:
        machine.run(program)
    assert passes(met) == {"send_block": (2, 2), "collectives": (2, 2)}


def test_the_treatments_that_use_cells_do_not_pass_the_path_of_cells(machine: smp.Machine) -> None:
    belt = machine.cells(2)
    for treatment in "cell", "message":
        with placed(paths=["cells"]), treated({"cells": treatment}):
            assert machine.run(handing, belt).results == [1, 2]


def test_delays_of_copies_are_made_where_the_data_move() -> None:
    """The delay of a write belongs to the copy-out phase, though the program calls step.copy_out before it."""
    with smp.emulated(2, schedule="clock") as machine:
        keys, sums = machine.array(np.arange(10)), machine.zeros(2, np.int64)
        plain = machine.run(copying, keys, sums).steps
        with placed(paths=["copy_in", "copy_out"]):
            with treated({"copy_in": "1ms"}):
                read = machine.run(copying, keys, sums).steps
            with treated({"copy_out": "1ms"}):
                write = machine.run(copying, keys, sums).steps
        assert read["copy_in"] - plain["copy_in"] == pytest.approx(2e-3)
        assert read["copy_out"] == pytest.approx(plain["copy_out"])
        assert write["copy_out"] - plain["copy_out"] == pytest.approx(1e-3)
        assert write["compute"] == pytest.approx(plain["compute"])
        trials = screen(
            copying,
            paths=["copy_in", "copy_out"],
            treatment="1us",
            machine=machine,
            arguments=(keys, sums),
            replicates=2,
        )
        assert trials.about["paths"] == ["copy_in", "copy_out"]
        assert trials.analyse().effect("copy_in") == pytest.approx(4e-6)
        assert trials.analyse().effect("copy_out") == pytest.approx(2e-6)


def test_operations_of_compiled_loops_are_named_in_the_loops(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, belt: smp.Cells) -> int:
        return in_a_loop(belt, proc.rank)

    def named(proc: smp.Processor, belt: smp.Cells) -> int:
        return placed_in_a_loop(belt, proc.rank)

    belt = pair.cells(2)
    with pytest.raises(ValueError, match=r"no operation of the data path cells from Python.*write delay\('cells'\)"):
        screen(program, paths=["cells"], machine=pair, arguments=(belt,))
    with smp.emulated(2, schedule="clock") as emulated, placed(paths=["cells"]), counted() as met:  # interpreted there
        emulated.run(program, emulated.cells(2))
    assert passes(met) == {"cells": (4, 2)}
    trials = screen(named, paths=["cells"], machine=pair, arguments=(belt,), replicates=2)
    assert passes(trials.met) == {"cells": (2, 2)}


def test_scripts_and_confirmations_take_paths(tmp_path: Path) -> None:
    script = tmp_path / "counting.py"
    script.write_text(
        "import smp\n\ndef program(proc):\n    return proc.reduce(1)\n\n"
        "if __name__ == '__main__':\n    with smp.emulated(2) as machine:\n        machine.run(program)\n"
    )
    trials = screen(script, "OA4(2^1)", treatment=[None, "1us"], paths=["collectives"], replicates=1)
    assert passes(trials.met) == {"collectives": (2, 2)}
    if trials.best():
        assert confirm(trials, script).about["paths"] == ["collectives"]


def test_unknown_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no data path 'copies': give some of copy_in, copy_out, send"):
        placed(paths=["copies"]).__enter__()
    with pytest.raises(TypeError, match=r"paths must be a sequence, such as \['cells'\]"):
        screen(test_unknown_paths_are_refused, paths="cells")
