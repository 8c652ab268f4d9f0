"""The kernel says how a process has ended that is not a child, once its parent has waited for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from smp._computer.processes import exit_status

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
input()
child.communicate(b"go")
print("waited", flush=True)
input()
"""
ENDS = {
    "import os, sys; sys.stdin.read(2); os._exit(3)": 3,
    "import sys; sys.stdin.read(2)": 0,
    "import os, sys; sys.stdin.read(2); os.kill(os.getpid(), 11)": -signal.SIGSEGV,
}


def from_linux(*version: int) -> bool:
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= version


@pytest.fixture(params=ENDS)
def grandchild(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """A process, a descriptor of its child, which ends at a word to its parent, and the child's exit status."""
    command = [sys.executable, "-c", PARENT, request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pidfd = os.pidfd_open(int(parent.stdout.readline()))
        yield parent, pidfd, ENDS[request.param]
        os.close(pidfd)
        parent.kill()


def test_the_status_is_known_when_the_parent_has_waited(grandchild: tuple[subprocess.Popen[str], int, int]) -> None:
    parent, pidfd, status = grandchild
    assert parent.stdin is not None
    assert parent.stdout is not None
    time.sleep(0.05)
    assert exit_status(pidfd) is None, "it goes on"
    parent.stdin.write("\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "waited\n"
    assert exit_status(pidfd) == (status if from_linux(6, 15) else None)


def test_a_descriptor_of_something_else_has_no_status() -> None:
    assert exit_status(sys.stderr.fileno()) is None
