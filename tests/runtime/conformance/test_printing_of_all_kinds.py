"""Printing and the log on all kinds of machines."""

import contextlib
import io
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import smp
from smp._runtime.program.records.log import EVENTS, Entry

Machines = Callable[[int], smp.Machine]


def lines_of(text: str, rank: int) -> list[str]:
    """Return the lines that a processor has printed, without the rank in front."""
    return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{rank} ")]


def entries_of(path: Path) -> list[Entry]:
    return [Entry(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("processors", [1, 3])
def test_lines_come_out_whole_and_in_the_order_of_each_processor(
    machines: Machines, processors: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(proc: smp.Processor, n: int) -> None:
        for k in range(n):
            proc.print(proc.rank, k, "text", sep=" ")
            if k % 10 == 0:
                proc.barrier()

    for _ in range(2):
        machines(processors).run(program, 50)
        shown = capsys.readouterr()
        assert [lines_of(shown.out, rank) for rank in range(processors)] == [
            [f"{k} text" for k in range(50)]
        ] * processors
        assert len(shown.out.splitlines()) == 50 * processors
        assert shown.err == ""


def test_texts_are_those_of_pythons_print(machines: Machines, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((1, None, "two"), {}),
        (("a", "b"), {"sep": ", ", "end": "!\n"}),
        (("several\nlines\n\nat once",), {}),
        (("\u00e4 \u03b2 \U0001f600 \0 \t \r middle",), {"sep": None, "end": None}),
        (("x" * 100_000,), {}),
        (("held, ",), {"end": ""}),
        (("and completed\nand held again, ",), {"end": ""}),
        (("and completed",), {}),
    ]
    expected = io.StringIO()
    for args, options in calls:
        print(*args, **options, file=expected)

    def program(proc: smp.Processor) -> None:
        for args, options in calls:
            proc.print(*args, **options)

    machines(1).run(program)
    assert capsys.readouterr().out == expected.getvalue()


def test_a_part_of_a_line_is_shown_when_the_program_ends_in_whatever_way(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(proc: smp.Processor, fails: bool) -> int:
        proc.print(proc.rank, "begun", end="")
        proc.print(proc.rank, "to error output", end="", file=sys.stderr)
        proc.barrier()
        return 1 // (not fails or proc.rank)

    for fails in (False, True):
        with pytest.raises(smp.ProcessorRaised) if fails else contextlib.nullcontext():
            machines(2).run(program, fails)
        shown = capsys.readouterr()
        assert sorted(shown.out.splitlines()) == ["0 begun", "1 begun"]
        assert sorted(shown.err.splitlines()) == ["0 to error output", "1 to error output"]


def test_only_the_outputs_of_the_parent_are_accepted(machines: Machines, capsys: pytest.CaptureFixture[str]) -> None:
    def program(proc: smp.Processor) -> None:
        proc.print("one", file=None)
        proc.print("two", file=sys.stdout)
        proc.print("three", file=sys.stderr)
        with pytest.raises(TypeError, match=r"file must be None, sys\.stdout or sys\.stderr, not <_io"):
            proc.print("four", file=io.StringIO())
        with pytest.raises(TypeError, match="sep must be None or a string"):
            proc.print("five", sep=5)

    machines(1).run(program)
    assert capsys.readouterr() == ("one\ntwo\n", "three\n")


def test_flush_waits_until_the_lines_are_shown_and_returns_their_number(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(proc: smp.Processor) -> list[int]:
        counts = [proc.flush()]
        for lines in (1, 3):
            proc.print("\n".join(["line"] * lines))
            proc.print("held", end="")
            counts.append(proc.flush(timeout=5.0))
        return counts

    for _ in range(2):
        assert machines(2).run(program).results == [[0, 1, 4]] * 2
        assert capsys.readouterr().out.count("line") == 8


def test_flush_refuses_a_timeout_that_is_not_in_seconds(machines: Machines) -> None:
    with pytest.raises(smp.ProcessorRaised, match="a timeout must be a number of seconds"):
        machines(1).run(lambda proc: proc.flush("long"))


def test_entries_name_processor_time_and_text(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        proc.log("begins")
        for k in range(20):
            proc.log(f'{k}\n\u00e4 \udc80 " {{"processor": 7, \'x\'')
        proc.barrier()
        proc.log(k)

    path = tmp_path / "run.log"
    machines(3).run(program, log=path, repeat=2)
    found = entries_of(path)
    for rank in range(3):
        own = [entry for entry in found if entry.processor == rank]
        once = ["begins", *[f'{k}\n\u00e4 \udc80 " {{"processor": 7, \'x\'' for k in range(20)], "19"]
        assert [entry.text for entry in own] == once * 2
        for part in (own[:22], own[22:]):  # virtual time begins at 0 in each run
            assert [entry.seconds for entry in part] == sorted(entry.seconds for entry in part)
    assert len(found) == 3 * 44
    assert {rank: entry.text for rank, entry in smp.last_entries(path).items()} == {0: "19", 1: "19", 2: "19"}
    machines(3).run(lambda proc: proc.log("again") if proc.rank == 1 else None, log=str(path))
    assert [(entry.processor, entry.text) for entry in entries_of(path)] == [(1, "again")]
    assert list(smp.last_entries(path)) == [1]


def test_without_a_log_the_calls_do_nothing(machines: Machines, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    machines(2).run(lambda proc: proc.log("first"), log=path)
    before = path.read_bytes()
    machines(2).run(lambda proc: proc.log("second"))
    assert path.read_bytes() == before


def all_events(proc: smp.Processor, array: smp.GlobalArray) -> None:
    proc.print("said\nin two lines")
    proc.barrier()
    proc.any(True)
    proc.split.count(True).wait()
    with proc.superstep("first") as step:
        step.copy_out(array, proc.rank, 1.0)  # otherwise a machine of several nodes has no barrier after the copy-out
    proc.reduce(1)
    proc.scan([1.0, 2.0])
    proc.broadcast(3)
    proc.gather(4)


def waits(*descriptions: str) -> list[str]:
    """Return the entries about collectives that a program waits in, one after the other."""
    return [f"{does} {description}" for description in descriptions for does in ("waits in", "has passed")]


LOGGED = {
    "print": ["print: said\nin two lines"],
    "combine": waits("reduce(add) of int64[]", "scan(add) of float64[2]"),
    "broadcast": waits("broadcast(root=0)", "gather"),
    "barrier": [
        *waits("barrier", "any"),
        *("begins count", *waits("count")),
        *waits(*(f"{phase} of superstep 'first'" for phase in ("copy-in", "compute", "copy-out"))),
        *waits("return from the program"),
    ],
}
"""The entries about each event of `all_events`, without their places."""


@pytest.mark.parametrize("name", LOGGED)
def test_only_events_that_were_chosen_are_logged(machines: Machines, name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    machine = machines(2)
    machine.run(all_events, machine.zeros(2), log=path, logging=(name,))
    for rank in range(2):
        own = [entry.text for entry in entries_of(path) if entry.processor == rank]
        assert [text.partition(" at ")[0] for text in own] == LOGGED[name]
        places = [text.partition(" at ")[2] for text in own if "print" not in text and "return" not in text]
        assert all(place.startswith(f"{__file__}:") for place in places)


def test_all_events_can_be_chosen_at_once(machines: Machines, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    machine = machines(2)
    machine.run(all_events, machine.zeros(2), log=path, logging=EVENTS)
    assert len(entries_of(path)) == 2 * sum(map(len, LOGGED.values()))


def test_options_of_the_log_are_checked(machines: Machines, tmp_path: Path) -> None:
    machine, path = machines(2), tmp_path / "run.log"
    with pytest.raises(ValueError, match=r"no event 'sum', only barrier, broadcast, combine, message, print"):
        machine.run(all_events, log=path, logging=("barrier", "sum"))
    with pytest.raises(TypeError, match="logging must be names of events"):
        machine.run(all_events, log=path, logging="barrier")
    with pytest.raises(ValueError, match="give log=path, too"):
        machine.run(all_events, logging=("barrier",))
    with pytest.raises(TypeError, match=r"log= is an option of machine\.run, but the program has a parameter"):
        machine.run(lambda proc, log: None, log=path)
    with pytest.raises(TypeError, match="int"):
        machine.run(all_events, log=3)  # type: ignore[arg-type]
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        machine.run(all_events, log=tmp_path / "no such folder" / "run.log")
    assert machine.run(lambda proc, log: log, path).results == [path] * 2


def test_after_a_forgotten_barrier_the_report_shows_where_each_processor_was(
    machines: Machines, tmp_path: Path
) -> None:
    def program(proc: smp.Processor) -> None:
        proc.barrier()
        if proc.rank == 1:
            proc.log("goes elsewhere")
            proc.gather(proc.rank)
        else:
            proc.barrier()

    path = tmp_path / "run.log"
    with pytest.raises(smp.CollectiveMismatch) as caught:
        machines(3).run(program, log=path, logging=("barrier",))
    texts = {rank: entry.text for rank, entry in smp.last_entries(path).items()}
    place = f"{__file__}:{program.__code__.co_firstlineno + 6}"
    assert texts == {0: f"waits in barrier at {place}", 1: "goes elsewhere", 2: f"waits in barrier at {place}"}
    report = "".join(traceback.format_exception(caught.value))
    assert "processor 1: gather at" in report
    assert f"The last entries of the log {path}:" in report
    for entry in smp.last_entries(path).values():
        assert f"  processor {entry.processor} at {entry.seconds:.6f} s: {entry.text}" in report


def test_a_report_names_processors_without_entries(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            proc.log("divides")
            raise ZeroDivisionError

    with pytest.raises(smp.ProcessorRaised) as caught:
        machines(2).run(program, log=tmp_path / "run.log")
    report = "".join(traceback.format_exception(caught.value))
    assert ": divides\n" in report
    assert "processor 1: no entry" in report


def test_handlers_may_print_and_log_but_not_flush(
    machines: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(proc: smp.Processor, flushes: bool) -> None:
        def say(message: smp.Message, k: int) -> None:
            proc.print(message.source, k)
            proc.log(f"{message.source} {k}")
            if flushes:
                proc.flush()

        handler = proc.handler(say)
        for k in range(100):
            proc.send(0, handler, k, on=smp.LEFT)
        proc.quiet()

    path = tmp_path / "run.log"
    machines(2).run(program, False, log=path)
    shown = capsys.readouterr().out
    texts = "\n".join(entry.text for entry in entries_of(path))
    for rank in range(2):
        assert lines_of(shown, rank) == lines_of(texts, rank) == [str(k) for k in range(100)]
    with pytest.raises(smp.ProcessorRaised, match=r"called proc\.flush, which no handler may do"):
        machines(2).run(program, True)


def test_messages_are_logged_when_they_are_sent_and_handled(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        def add(message: smp.Message, k: int) -> None:
            pass

        def ask(message: smp.Message) -> None:
            message.reply(added, 1)

        added, asked = proc.handler(add), proc.handler(ask, replies=True)
        if proc.rank:
            proc.request(0, asked)
            proc.send(0, added, 5)
        proc.quiet()

    path = tmp_path / "run.log"
    machines(2).run(program, log=path, logging=("message",))
    names = f"{program.__qualname__}.<locals>."
    found = [(entry.processor, entry.text.removeprefix("message: ").replace(names, "")) for entry in entries_of(path)]
    expected = [(0, f"runs {name} of processor 1") for name in ("add", "ask")]
    expected += [(0, "sends to add of processor 1"), (1, "runs add of processor 0")]
    expected += [(1, f"sends to {name} of processor 0") for name in ("add", "ask")]
    assert sorted(found) == sorted(expected)
