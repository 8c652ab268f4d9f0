"""Printing on the host: lines are shown while the program runs, and are whole or counted as lost."""

import contextlib
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import HARD, Emulated, Machines, guarded
from support.sampled import each

import smp
from smp._runtime.host import deadlock, printed

LOST = re.compile(r"processor (\d+) printed faster than its lines could be shown: ([\d,]+) lines? lost")


class Slow(io.StringIO):
    """An output that takes each text after some time."""

    def write(self, text: str) -> int:
        time.sleep(0.05)
        return super().write(text)


@contextlib.contextmanager
def outputs(out: io.StringIO | None = None) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Replace the outputs of this process."""
    out, error = io.StringIO() if out is None else out, io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        yield out, error


def lost_lines(error: str) -> dict[int, int]:
    """Return the number of lines of each processor that were lost."""
    found: dict[int, int] = {}
    for rank, count in LOST.findall(error):
        found[int(rank)] = found.get(int(rank), 0) + int(count.replace(",", ""))
    return found


def print_lines(proc: smp.Processor, n: int, flushed: int, more: str = "", flush: float = HARD) -> int:
    """Print numbered lines; wait for the parent after each ``flushed`` of them.  Return the number that was shown."""
    for k in range(n):
        proc.print("processor", proc.rank, "line", k, more)
        if (k + 1) % flushed == 0:
            proc.flush(timeout=flush)
    return proc.flush(timeout=flush)


def numbers_of(text: str, rank: int, more: str = "") -> list[int]:
    """Return the numbers of a processor's lines; all lines must be whole."""
    pattern = re.compile(rf"processor (\d+) line (\d+) {more}")
    lines = [pattern.fullmatch(line) for line in text.splitlines()]
    assert all(lines)
    return [int(line[2]) for line in lines if line is not None and int(line[1]) == rank]


def test_no_line_of_100_000_is_lost_while_the_parent_keeps_up(machines: Machines) -> None:
    with outputs() as (out, error):
        run = machines(4).run(print_lines, 25_000, 5_000)
    assert run.results == [25_000] * 4
    for rank in range(4):
        assert numbers_of(out.getvalue(), rank) == list(range(25_000))
    assert error.getvalue() == ""


@pytest.mark.parametrize(
    ("look", "more"), each(3, [(0.001, ""), (0.001, "x" * 1000), (3600.0, ""), (3600.0, "x" * 1000)])
)
def test_lines_that_are_not_shown_in_time_are_counted(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, look: float, more: str
) -> None:
    n = 30_000 if not more else 10_000
    monkeypatch.setattr(printed, "LOOK", look)
    with outputs(Slow()) as (out, error):
        run = machines(2).run(print_lines, n, n, more, flush=HARD if look < 1.0 else 0.0)
    lost = lost_lines(error.getvalue())
    for rank in range(2):
        shown = numbers_of(out.getvalue(), rank, more)
        assert shown == sorted(set(shown))
        assert shown[-1] == n - 1, "the oldest lines are lost, not the newest"
        assert len(shown) + lost.get(rank, 0) == n
        if look < 1.0:
            assert run.results[rank] == len(shown)
        else:
            assert len(shown) < n
            assert shown == list(range(n - len(shown), n))


def test_lines_are_shown_while_the_program_runs(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: smp.Cells) -> None:
        proc.print("line", proc.rank)
        cells.readfe(proc.rank)  # filled when the lines were shown

    cells = pair.cells(2)
    with outputs() as (out, _):

        def fill() -> None:
            deadline = time.monotonic() + HARD
            while out.getvalue().count("\n") < 2 and time.monotonic() < deadline:
                time.sleep(0.001)
            shown.append(out.getvalue())
            cells.writeef(0, 1)
            cells.writeef(1, 1)

        shown: list[str] = []
        filler = threading.Thread(target=fill)
        filler.start()
        pair.run(program, cells, helpers=True)
        filler.join()
    assert sorted(shown[0].splitlines()) == ["line 0", "line 1"]


def test_the_parent_looks_for_lines_also_if_nothing_else_wakes_it(
    pair: smp.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlock, "TICK", 3600.0)
    assert printed.LOOK < 0.1
    with outputs():
        assert pair.run(print_lines, 1, 1).results == [1, 1]


def test_a_processor_that_prints_without_end_can_be_ended() -> None:
    def program(proc: smp.Processor) -> None:
        while True:
            proc.print("line " * 100)

    with guarded(smp.host(2), HARD) as machine, machine, outputs(Slow()), pytest.raises(smp.WaitTimeout):
        machine.run(program, timeout=0.2)


def test_handlers_of_messages_run_while_a_processor_waits_for_its_lines(
    pair: smp.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent never looks, so the wait ends when its time is over."""
    monkeypatch.setattr(printed, "LOOK", 3600.0)

    def program(proc: smp.Processor) -> tuple[int, tuple[int, ...]]:
        came: list[int] = []
        handler = proc.handler(lambda message, k: came.append(k))
        proc.send(proc.rank, handler, 7)
        proc.print("line")
        return proc.flush(timeout=0.01), tuple(came)

    with outputs() as (out, _):
        assert pair.run(program).results == [(0, (7,))] * 2
    assert out.getvalue() == "line\nline\n"


@pytest.mark.parametrize("how", ["killed", "exits", "hangs", "raises"])
def test_lines_that_were_printed_before_a_failure_are_shown(how: str) -> None:
    def program(proc: smp.Processor) -> None:
        for k in range(100):
            proc.print(f"{proc.rank}:{k}")
        if proc.rank == 0:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "exits":
                os._exit(3)
            assert how == "hangs"
        while True:
            time.sleep(0.01)

    failures = (smp.ProcessorRaised, smp.ProcessorDied, smp.WaitTimeout)
    with smp.host(2) as machine, outputs() as (out, _), pytest.raises(failures):
        machine.run(program, timeout=0.5 if how == "hangs" else None)
    lines = out.getvalue().splitlines()
    assert [line for line in lines if line.startswith("0:")] == [f"0:{k}" for k in range(100)]
    if how == "hangs":
        assert [line for line in lines if line.startswith("1:")] == [f"1:{k}" for k in range(100)]


def test_a_processor_that_ignores_the_end_is_killed_and_its_lines_are_shown(tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        k = 0
        while True:
            with contextlib.suppress(BaseException):
                proc.print(k)
                proc.log(str(k))
                k += 1

    with smp.host(1) as machine, outputs() as (out, error), pytest.raises(smp.WaitTimeout):
        machine.run(program, timeout=0.1, log=tmp_path / "run.log")
    shown = [int(line) for line in out.getvalue().splitlines()]
    assert shown == sorted(shown)
    assert set(shown) == set(range(shown[-1] + 1)), "a line repeats if the end comes before the program counts it"
    assert shown[-1] >= int(smp.last_entries(tmp_path / "run.log")[0].text)
    assert error.getvalue() == ""


def test_a_line_longer_than_a_record_is_cut(pair: smp.Machine) -> None:
    long = "x" + "\u00e4\0" * printed.MOST

    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            proc.print("short\n" + long + "\nshort again")

    with outputs() as (out, error):
        pair.run(program)
    first, cut, last = out.getvalue().splitlines()
    assert (first, last) == ("short", "short again")
    text, _, rest = cut.partition("... and ")
    assert long.startswith(text)
    assert len(text.encode()) > printed.MOST // 2
    more = int(rest.removesuffix(" more bytes in this line").replace(",", ""))
    assert len(text.encode()) + text.count("\0") + more == 1 + 4 * printed.MOST, "a NUL takes two bytes in the ring"
    assert error.getvalue() == ""


def test_one_text_of_many_lines_is_shown_or_counted(pair: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100_000
    monkeypatch.setattr(printed, "LOOK", 3600.0)

    def program(proc: smp.Processor, first: int) -> None:
        proc.print("\n".join(f"processor {proc.rank} line {k} " for k in range(first, n)))

    for first, some_lost in ((n - 10_000, False), (0, True)):
        with outputs() as (out, error):
            pair.run(program, first)
        lost = lost_lines(error.getvalue())
        for rank in range(2):
            shown = numbers_of(out.getvalue(), rank)
            assert len(shown) + lost.get(rank, 0) == n - first
            assert shown == list(range(n - len(shown), n))
        assert bool(lost) is some_lost


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=20), st.sampled_from(["\n", "", "\r\n", " \0\n"])), max_size=20))
def test_any_letters_are_shown_as_they_are(machines: Machines, calls: list[tuple[str, str]]) -> None:
    def program(proc: smp.Processor) -> None:
        for text, end in calls:
            proc.print(text, end=end)

    with outputs() as (out, _):
        machines(1).run(program)
    text = "".join(text + end for text, end in calls)
    assert out.getvalue() == text + "\n" * (not text.endswith("\n") and text != "")


def test_threads_of_a_pool_print_whole_lines(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> int:
        def work(thread: int) -> None:
            for k in range(200):
                proc.print(proc.rank, thread, k)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        with proc.streams(4) as pool:
            pool.map(work, range(4))
        sys.setswitchinterval(before)
        return proc.flush(timeout=HARD)

    with outputs() as (out, _):
        assert pair.run(program).results == [800, 800]
    lines = [tuple(map(int, line.split())) for line in out.getvalue().splitlines()]
    for rank in range(2):
        for thread in range(4):
            assert [k for r, t, k in lines if (r, t) == (rank, thread)] == list(range(200))


def test_a_forked_process_prints_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    def program(proc: smp.Processor, n: int) -> None:
        child = os.fork()
        for k in range(n):
            proc.print("child" if child == 0 else "processor", k)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    with smp.host(1) as machine, outputs() as (out, _):
        machine.run(program, 1000)
    assert out.getvalue().splitlines() == [f"processor {k}" for k in range(1000)]
    assert capfd.readouterr().out.splitlines() == [f"child {k}" for k in range(1000)]


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", b"1 \\xb5s\n"), ("latin-1", b"1 \xb5s\n")])
def test_letters_that_the_output_lacks_are_escaped(
    pair: smp.Machine, emulated: Emulated, encoding: str, shown: bytes
) -> None:
    for machine in (pair, emulated(2)):
        written = io.BytesIO()
        with contextlib.redirect_stdout(io.TextIOWrapper(written, encoding=encoding)):
            machine.run(lambda proc: proc.print("1 \u00b5s") if proc.rank == 0 else None)
            assert written.getvalue() == shown, "what is shown is also flushed"


def test_an_output_that_fails_ends_the_call_but_not_the_machine(pair: smp.Machine) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError("the reader is gone")

    def program(proc: smp.Processor, shown: smp.Cells) -> None:
        proc.print("line")
        shown.writexf(proc.rank, proc.flush(timeout=HARD))

    shown = pair.cells(2)
    for rank in range(2):
        shown.writeef(rank, -1)
    with outputs(Broken()), pytest.raises(BrokenPipeError, match="the reader is gone"):
        pair.run(program, shown)
    assert [shown.readff(rank) for rank in range(2)] == [0, 0], "the programs have gone on"
    with outputs() as (out, _):
        pair.run(program, shown)
    assert out.getvalue() == "line\nline\n"
    assert [shown.readff(rank) for rank in range(2)] == [1, 1]


def test_lines_for_an_output_that_is_closed_are_left_out(pair: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(proc: smp.Processor) -> int:
        proc.print("line", file=sys.stderr)
        return proc.flush(timeout=HARD)

    with outputs() as (out, _):
        monkeypatch.setattr(sys, "stderr", None)
        assert pair.run(program).results == [1, 1]
    assert out.getvalue() == ""


def test_a_run_that_does_not_print_never_looks_at_the_rings(pair: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    show = printed.Console._show
    monkeypatch.setattr(printed.Console, "_show", lambda self, rank: (looks.append(rank), show(self, rank)))
    pair.run(lambda proc: time.sleep(3 * printed.LOOK))
    assert looks == []
    pair.run(lambda proc: proc.print("line"))
    assert sorted(set(looks)) == [0, 1]


def test_a_short_run_makes_no_look_before_its_end(pair: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "LOOK", 3600.0)
    with outputs() as (out, _):
        pair.run(lambda proc: proc.print("line"))
    assert out.getvalue() == "line\nline\n"


def test_explored_programs_can_print(capsys: pytest.CaptureFixture[str]) -> None:
    def program(proc: smp.Processor) -> None:
        proc.print("line", end="")
        proc.barrier()

    found = smp.explore(program, 2, bound=0)
    assert found.failure is None
    assert capsys.readouterr().out == "line\n" * 2 * found.schedules
