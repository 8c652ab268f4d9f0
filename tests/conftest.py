"""Fixtures that tests share: machines, and the check that nothing is left behind.

By design, one idle fork server for each start method stays for a while after its last machine (see
``smp._runtime.host.forkserver``). One socket to it stays as well, and one thread that waits for it to end. Nothing
else may stay.
"""

import contextlib
import functools
import gc
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.machines import ROOT, Emulated, Machines, Script, shared, state
from support.profiles import charging
from support.sampled import leave_out

import smp
from smp._runtime.emulated.clocked import machine_code
from smp._runtime.host import helpers, launcher, looking
from smp._runtime.protocols import entry_points

MAIN = threading.main_thread().ident
RUNNERS = frozenset(sys._current_frames()) - {MAIN}
"""Threads of the test runner: one that gets its orders, if the tests run in several processes."""
os.environ["SMP_DATA_DIR"] = tempfile.mkdtemp(prefix="smp-tests-")
"""A folder for the tests, so that no test reads or replaces the user's own profile or models."""
os.environ["XDG_RUNTIME_DIR"] = os.devnull
"""No folder for claims of CPUs, because other tests keep machines open, also in other processes."""
if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and not os.getenv("PYTHONPYCACHEPREFIX"):
    # Hundreds of tests start programs, and each would compile the modules that it imports.
    BYTECODE = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="smp-bytecode-")
else:
    BYTECODE = ""  # in the usual places, or where the first of several processes of this run has it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell that runs the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it, and wait for its effect
launcher._CODE = launcher._CODE.replace(
    "worker.prepare()", "worker.prepare(); import hypothesis, pytest; forkserver.LINGER = 300.0"
)
"""Fork servers of the tests wait five minutes for the next machine instead of ten seconds. They import what the modules
of tests import, so that a processor whose program is in such a module need not."""
os.environ["COLUMNS"] = "100"
"""The width of printed tables, which would otherwise depend on the terminal and on the number of test processes."""


def pytest_configure(config: pytest.Config) -> None:
    """Give tests of properties fewer inputs than the usual 100, unless campaigns are run."""
    settings.register_profile("ordinary", max_examples=20)
    if "not slow" in config.option.markexpr:
        settings.load_profile("ordinary")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is listed, before the cases are selected by their markers."""
    leave_out(items)


def pytest_sessionstart() -> None:
    """Compile the runtime in the first of several processes and its emulation in the second, so that none waits."""
    first = {"gw0": entry_points.core, "gw1": machine_code.entry_points}
    first.get(os.getenv("PYTEST_XDIST_WORKER", ""), lambda: None)()


def pytest_unconfigure() -> None:
    """Remove the bytecode of programs that tests have started."""
    if BYTECODE:
        shutil.rmtree(BYTECODE, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> None:
    """Exclude the objects that exist before a module from garbage collection, so that its many collections are fast."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _still() -> Iterator[None]:
    """Prevent timings from being repeated because the host of this computer has moved its CPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "look", lambda: math.nan)
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_runner() -> Iterator[None]:
    """Leave the runner's threads out where a run looks for threads of the parent that may help; users have none."""
    found = helpers.frames
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helpers, "frames", lambda: {i: f for i, f in found().items() if i not in RUNNERS})
        yield


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A profile of this computer in the folder of data, from which intervals are predicted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMP_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        charging().keep()
        yield


@pytest.fixture(scope="session")
def fork_servers() -> None:
    """Start the fork server of each start method, so that its socket exists before anything is counted."""
    for method in ("forkserver", "spawn"):
        smp.host(1, start=method).close()


@pytest.fixture
def nothing_left(fork_servers: None) -> Iterator[None]:
    """Check that a test leaves no process, descriptor, thread, segment or file."""
    for method in ("forkserver", "spawn"):  # a server may have retired meanwhile, or a test may have dropped it
        if method == "forkserver" or method not in launcher._roots:
            smp.host(1, start=method).close()
    deadline = time.monotonic() + 2.0
    while "zombie" in str((before := state())["processes"]) and time.monotonic() < deadline:
        time.sleep(0.01)  # a fork server that has just retired is reaped by its thread
    yield
    deadline = time.monotonic() + 2.0
    while (after := state()) != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert after == before


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    """``machines(p)`` is a machine of p processors, shared by the tests of a module while it is open."""
    with shared(smp.host) as machine:
        yield machine


@pytest.fixture(scope="module")
def emulated() -> Iterator[Emulated]:
    """``emulated(p)`` is a machine of p processors in virtual time, shared by the tests of a module."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: stack.enter_context(smp.emulated(p, schedule="clock")))


@pytest.fixture(scope="module")
def congested() -> Iterator[Emulated]:
    """``congested(p)`` is a machine as of ``emulated``, with a network that congests."""
    network = smp.networks.congested()
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: stack.enter_context(smp.emulated(p, schedule="clock", network=network)))


@pytest.fixture
def pair(machines: Machines) -> smp.Machine:
    """A machine of two processors, shared by the tests of a module."""
    return machines(2)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """``script(source)`` starts a Python program as a separate process, with its output in a pipe."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *args: str, **environment: str) -> subprocess.Popen[str]:
        path = tmp_path / f"script{len(started)}.py"
        path.write_text(textwrap.dedent(source))
        process = subprocess.Popen(
            [sys.executable, str(path), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()
