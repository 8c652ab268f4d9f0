"""`smp.run` and `smp.map`: programs and functions on a machine that is opened for one call."""

import operator
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import CPUS, HARD, ROOT
from support.notebooks import kernel

import smp
from smp._runtime.one_call.chunks import MOST, starts_of


def until_there(path: Path, seconds: float = 60.0) -> None:
    """Wait for a file."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not come"
        time.sleep(0.005)


def test_a_program_runs_on_as_many_processors_as_it_is_given(nothing_left: None) -> None:
    run = smp.run(lambda proc, x, *, y: (proc.rank, proc.size, x + y), 3, 1, y=2)
    assert run.results == [(0, 3, 3), (1, 3, 3), (2, 3, 3)]
    assert isinstance(run, smp.Run)
    assert smp.run(lambda proc: proc.rank, processors=2).results == [0, 1]


@pytest.mark.parametrize("given", [(), (None,)])
def test_a_program_runs_on_all_cpus_without_a_number(given: tuple[None, ...]) -> None:
    assert smp.run(lambda proc: proc.size, *given).results == [CPUS] * CPUS


def test_options_of_a_run_are_handed_on() -> None:
    run = smp.run(lambda proc: proc.random.random(), 2, seed=7, repeat=3, warmup=1)
    assert (run.seed, len(run.repeats), run.warmup) == (7, 3, 1)
    with pytest.raises(smp.WaitTimeout):
        smp.run(lambda proc: time.sleep(60), 1, timeout=0.2)


def test_arguments_in_the_place_of_the_number_are_refused() -> None:
    for wrong in ([1, 2], "a", 2.0, True):
        with pytest.raises(TypeError, match=r"second argument of smp\.run .* number of processors"):
            smp.run(lambda proc, x: x, wrong)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="processors"):
        smp.run(lambda proc: 1, 0)


def test_results_are_in_the_order_of_the_items(nothing_left: None) -> None:
    for count in (1, 2, 3, 1000):
        assert smp.map(lambda x: 2 * x, range(count), 2) == list(range(0, 2 * count, 2))


def test_any_iterable_and_any_callable_will_do() -> None:
    assert smp.map(str, (n * n for n in range(5))) == ["0", "1", "4", "9", "16"]
    assert smp.map(len, {"a": 1, "bc": 2}, 2) == [1, 2]
    assert smp.map(operator.itemgetter(1), zip("ab", "cd", strict=True), 2) == ["c", "d"]
    rows = smp.map(np.sum, np.arange(6).reshape(3, 2), 2)
    assert rows == [1, 5, 9]


def test_no_items_have_no_results() -> None:
    assert smp.map(str, []) == []
    assert smp.map(str, iter(())) == []
    with pytest.raises(ValueError, match="processors"):
        smp.map(str, [], 0)
    with pytest.raises(TypeError, match=r"smp\.map\(f, items\)"):
        smp.map([1], str)  # type: ignore[arg-type]


def test_a_slow_item_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """The first item waits for the last one, so one processor takes all others meanwhile."""

    def work(number: int) -> int:
        if number == 0:
            until_there(tmp_path / "last")
        if number == 19:
            (tmp_path / "last").touch()
        return os.getpid()

    first, *others = smp.map(work, range(20), 2)
    assert len(set(others)) == 1
    assert first not in others


@pytest.mark.parametrize("processors", [1, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 100, 12_345, 1_000_000])
def test_chunks_become_smaller_and_have_all_items(count: int, processors: int) -> None:
    starts = starts_of(count, processors)
    sizes = np.diff(starts)
    assert (starts[0], starts[-1]) == (0, count)
    assert sizes.min() == sizes[-1] == 1
    assert sizes.max() == sizes[0] <= MOST
    assert (np.diff(sizes) <= 0).all()


def test_no_more_processors_than_items_are_opened() -> None:
    assert smp.map(lambda item: item, ["a"], 64) == ["a"]
    assert len(set(smp.map(lambda item: os.getpid(), range(2), 64))) <= 2


def raises(number: int) -> int:
    if number == 17:
        raise LookupError("no such thing")
    return number


def test_an_exception_names_the_item_and_keeps_its_traceback(nothing_left: None) -> None:
    with pytest.raises(
        smp.ProcessorRaised, match=r"^items\[17\] of 100: .* raised LookupError: no such thing"
    ) as caught:
        smp.map(raises, range(100), 2)
    assert isinstance(caught.value.__cause__, LookupError)
    assert "in raises" in caught.value.remote_traceback
    assert 'raise LookupError("no such thing")' in "".join(caught.value.__notes__)


def test_the_end_of_a_process_names_the_item(nothing_left: None) -> None:
    with pytest.raises(smp.ProcessorDied, match=r"^items\[3\] of 5: .* SIGKILL"):
        smp.map(lambda n: os.kill(os.getpid(), signal.SIGKILL) if n == 3 else n, range(5), 2)


class Stubborn:
    """An object that cannot be made again from its bytes in this process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return made_elsewhere, (os.getpid(),)


def made_elsewhere(process: int) -> Stubborn:
    if process != os.getpid():
        raise ValueError("of another process")
    return Stubborn()


def test_objects_that_cannot_be_sent_are_named() -> None:
    stream = open(os.devnull)  # noqa: SIM115
    with stream:
        with pytest.raises(smp.NotPicklable, match=r"items\[2\] cannot be sent to the processors: a TextIOWrapper"):
            smp.map(str, [0, 1, stream], 2)
        with pytest.raises(smp.NotPicklable, match="'stream', which '<lambda>' closes over, cannot be sent"):
            smp.map(lambda n: stream.read(n), [1], 2)
    with pytest.raises(smp.NotPicklable, match=r"the result of items\[1\] cannot be sent back: a generator"):
        smp.map(lambda n: iter(range(3)) if n != 1 else (i for i in range(3)), range(3), 1)
    with pytest.raises(smp.NotPicklable, match=r"results from items\[0\] on cannot be unpickled: of another process"):
        smp.map(lambda n: Stubborn(), [1])


def test_a_function_may_call_map_itself() -> None:
    assert smp.map(lambda n: smp.map(lambda m: m + n, range(3), 2), range(2), 2) == [[0, 1, 2], [1, 2, 3]]


SLOW = """
import sys, time, smp
from pathlib import Path

GO = Path(sys.argv[1])

def slow(number):
    if number == 0:
        print("begun", flush=True)
        while not GO.exists():
            time.sleep(0.01)
    return number

print(sum(smp.map(slow, range(60), 2)), flush=True)
"""
PROGRESS = b"slow: 59 of 60 items"


@pytest.fixture
def on_a_terminal(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that waits in its first item until there is a file "go", and the terminal of its error output."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    arguments = [sys.executable, "-c", SLOW, str(tmp_path / "go")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment) as process:
        os.close(theirs)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process, ours
        process.kill()
    os.close(ours)


def shown_until(terminal: int, text: bytes) -> bytes:
    """Read from a terminal until a text has come, or to the end if it is empty."""
    shown = b""
    while not text or text not in shown:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the process has ended
            break
    return shown


def test_progress_is_shown_on_a_terminal(on_a_terminal: tuple[subprocess.Popen[str], int], tmp_path: Path) -> None:
    process, terminal = on_a_terminal
    assert PROGRESS in shown_until(terminal, PROGRESS)
    (tmp_path / "go").touch()
    shown_until(terminal, b"")
    assert process.stdout is not None
    assert process.stdout.read() == "1770\n"
    assert process.wait(HARD) == 0


def test_ctrl_c_ends_the_call(on_a_terminal: tuple[subprocess.Popen[str], int]) -> None:
    process, terminal = on_a_terminal
    process.send_signal(signal.SIGINT)
    shown = shown_until(terminal, b"").decode()
    assert process.wait(HARD) == -signal.SIGINT
    assert shown.count("Traceback") == 1
    assert "KeyboardInterrupt" in shown


def test_nothing_is_shown_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    smp.map(lambda n: time.sleep(0.2), range(8), 2)
    assert capfd.readouterr() == ("", "")


def test_lambdas_of_a_notebook_can_be_mapped() -> None:
    with kernel() as notebook:
        notebook.run("import smp\nshift = 3\nclass Point:\n    def __init__(self, x):\n        self.x = x")
        assert notebook.run("smp.map(lambda p: p.x + shift, [Point(1), Point(2)], 2)") == "[4, 5]"
        assert notebook.run("[p.x for p in smp.map(Point, range(3), 2)]") == "[0, 1, 2]"
        assert notebook.run("smp.run(lambda proc: proc.rank + shift, 2).results") == "[3, 4]"
        assert "items[1] of 3" in notebook.fails("smp.map(lambda n: 1 // (n - 1), range(3), 2)")
