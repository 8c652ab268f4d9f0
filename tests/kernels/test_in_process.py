"""Parts that run in parallel in the calling process: their results, errors, and Ctrl-C once all parts have ended."""

import contextvars
import os
import signal
import threading
import time

import pytest

import smp
from smp._computer.limits import usable_cpus
from smp.kernels.in_process import opened, side_by_side, streams_for


def test_results_come_in_order_and_the_first_part_runs_in_the_calling_thread() -> None:
    assert side_by_side(threading.get_ident) == [threading.get_ident()]
    assert side_by_side(threading.get_ident, lambda: 7, lambda: 8) == [threading.get_ident(), 7, 8]


@pytest.mark.parametrize("guilty", [0, 1])
def test_an_error_is_raised_once_all_parts_have_ended(guilty: int) -> None:
    ended = []

    def fails() -> None:
        raise ValueError("this part")

    def ends_late() -> None:
        time.sleep(0.2)
        ended.append(True)

    parts = (fails, ends_late) if guilty == 0 else (ends_late, fails)
    with pytest.raises(ValueError, match="this part"):
        side_by_side(*parts)
    assert ended == [True]


def test_ctrl_c_is_raised_once_all_parts_have_ended() -> None:
    ended = []

    def presses() -> None:
        time.sleep(0.1)  # so that the caller is waiting by now
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(lambda: None, presses)
    assert ended == [True]


def test_the_machine_determines_the_number_of_streams_and_where_programs_run() -> None:
    def outside() -> None:
        cpus = len(usable_cpus())
        assert streams_for(None) == cpus
        with smp.emulated(1) as one, smp.emulated(1000) as many:
            assert (streams_for(one), streams_for(many), streams_for(None)) == (1, min(1000, cpus), min(1000, cpus))
            with opened(None) as chosen:
                assert chosen is many
            with opened(one) as chosen:
                assert chosen is one

    contextvars.Context().run(outside)
