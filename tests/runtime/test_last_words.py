"""How a rank has ended, in the words of the launchers of MPICH, Open MPI and Intel MPI."""

import signal

import pytest

from smp._runtime.mpi.last_words import MASKED, may_be_a_signal, status_in

MPICH = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 7121 RUNNING AT node1
=   EXIT CODE: {code}
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
{more}
"""
BY_SIGNAL = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)"
OPEN_MPI = """
--------------------------------------------------------------------------
prterun noticed that process rank 2 with PID 7121 on node node1 exited on
signal 11 (Segmentation fault).
--------------------------------------------------------------------------
"""
INTEL = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK {} PID 7121 RUNNING AT node1
=   KILLED BY SIGNAL: {} (Killed)
===================================================================================
"""


@pytest.mark.parametrize(
    ("words", "launcher", "expected"),
    [
        (MPICH.format(code=3, more=""), 3, 3),
        (MPICH.format(code=139, more=BY_SIGNAL), 139, -signal.SIGSEGV),
        (MPICH.format(code=9, more=""), MASKED, -signal.SIGKILL),
        (MPICH.format(code=255, more=""), MASKED, None),
        (MPICH.format(code=9, more=""), 9, None),
        (OPEN_MPI, 139, -signal.SIGSEGV),
        (INTEL.format(0, 9) + INTEL.format(2, 11), 255, -signal.SIGSEGV),
        (INTEL.format(0, 9) + INTEL.format(1, 9), 255, None),
        ("processor 2 was here", 1, None),
    ],
)
def test_the_status_of_a_rank_is_found(words: str, launcher: int, expected: int | None) -> None:
    assert status_in(words, 2, [7119, 7120, 7121, 7122], launcher) == expected


@pytest.mark.parametrize("words", [MPICH.format(code=9, more=""), OPEN_MPI])
def test_words_about_another_rank_do_not_count_and_those_about_a_script_do(words: str) -> None:
    assert status_in(words, 2, [7119, 7120, 7123, 7121], MASKED) is None
    assert status_in(words, 2, [8001, 8002, 8003, 8004], MASKED) in (-signal.SIGKILL, -signal.SIGSEGV)


@pytest.mark.parametrize(
    ("status", "expected"), [(0, True), (3, False), (9, True), (139, True), (255, True), (1, False)]
)
def test_a_status_that_may_be_due_to_a_signal_is_known(status: int, expected: bool) -> None:
    assert may_be_a_signal(status) is expected
