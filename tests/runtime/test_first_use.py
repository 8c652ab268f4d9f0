"""A line by logging, or in a terminal, says why a first call takes seconds."""

import io
import logging
import multiprocessing
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.machines import ROOT, Script

import smp
from smp._output import log
from smp._runtime.loops import machine_code, object_files


def test_a_long_compilation_is_logged_and_a_short_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="smp")
    with log.reported("short", 60.0):
        pass
    with log.reported(machine_code.first_use("a loop"), 0.01):
        time.sleep(0.2)
    assert [record.name for record in caplog.records] == ["smp"]
    assert caplog.messages[0].startswith("compiling a loop for the first time; its machine code is kept in /")


def said_late(_: int) -> list[str]:
    lines: list[str] = []
    log.say = lines.append  # type: ignore[assignment]
    with log.reported("late", 0.01):
        time.sleep(0.2)
    return lines


def test_one_thread_says_all_lines_of_a_process_and_another_those_of_its_copy() -> None:
    for _ in range(2):
        with log.reported("short", 60.0):
            pass
    time.sleep(0.1)  # a thread that ends would have ended by now
    assert [thread.name for thread in threading.enumerate()].count("smp log") == 1
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(said_late, [0]) == [["late"]]


def test_the_first_call_of_a_loop_is_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="smp")
    monkeypatch.setattr(machine_code, "SILENT", 0.0)
    space: dict[str, object] = {}
    exec(f"def tripled(x):\n    return x * 3 + {time.monotonic_ns()} * 0\n", space)
    loop = smp.local(space["tripled"])  # type: ignore[call-overload]
    assert loop(7) == 21
    assert loop(8) == 24
    assert [message.split(";")[0] for message in caplog.messages] == ["compiling tripled for the first time"]


def test_the_runtimes_own_functions_are_reported_at_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO, logger="smp")
    monkeypatch.setattr(object_files.compiler, "object_code", lambda *_, **__: b"code")
    files = object_files.ObjectFiles("own", [(abs, 1)])
    assert files._made(tmp_path / "own-key.objects") == [b"code"]
    assert caplog.messages[0].startswith("compiling smp's own functions, which takes about ten seconds, for the first")


@pytest.mark.parametrize("watched", [True, False])
def test_without_logging_a_line_is_shown_to_a_person_who_watches(
    monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: False)  # pytest has set up logging
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: watched, raising=False)
    monkeypatch.setattr(sys, "stderr", shown)
    log.say("compiling a loop")
    assert shown.getvalue() == ("smp: compiling a loop\n" if watched else "")


PROGRAM = "from smp._output import log\nlog.say('compiling')"


def test_a_terminal_shows_the_line() -> None:
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", PROGRAM], stderr=theirs, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    os.close(theirs)
    said = os.read(ours, 1000)
    os.close(ours)
    assert said == b"smp: compiling\r\n"


def test_kept_functions_know_numbas_name_for_freeing_before_numba_is_in_use() -> None:
    """Numba 0.62 leaves a call of it in a function that owns no array, and without the name the process ended."""
    code = (
        "import llvmlite.binding as llvm, numpy as np\n"
        "from smp._runtime.emulated.interconnect.machine_code import core\n"
        "core()\n"
        "assert llvm.address_of_symbol('NRT_MemInfo_call_dtor') is not None\n"
        "import numba\n"
        "print(numba.njit(lambda n: (np.arange(n) * 2).sum())(4))"  # frees an array, so Numba has replaced the name
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "12\n"), done.stderr


STARTS = """
import sys
import smp

def has_numba(proc):
    return "numba" in sys.modules

def seen(start):
    with smp.host(2, start=start) as machine:
        return machine.run(has_numba).results

print(seen("forkserver"), seen("fork"))

@smp.local
def doubled(x):
    return 2 * x

print(seen("forkserver"), seen("fork"))
"""


def test_processors_start_with_numba_if_the_program_has_loops(script: Script) -> None:
    """Otherwise each would import it at its first call of a loop."""
    out, err = script(STARTS).communicate(timeout=60)
    assert out.splitlines() == ["[False, False] [False, False]", "[True, True] [True, True]"], err
