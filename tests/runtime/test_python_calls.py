"""The entry points as functions of Python: arguments, errors, and the lock of the interpreter."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from smp._runtime.protocols import flags, wait
from smp._runtime.protocols.entry_points import Core, core


def test_arguments_and_results_are_integers_of_64_bits() -> None:
    words = np.zeros(wait.SHARED_WORDS, np.int64)
    address = words.ctypes.data
    assert [core().join(address), core().join(np.int64(address))] == [1, 2]
    assert words[wait.RECORDS] == 2


def test_a_negative_argument_arrives_as_it_is() -> None:
    sync = np.zeros(wait.PRIVATE_WORDS, np.int64)
    shared = np.zeros(wait.SHARED_WORDS, np.int64)
    sync[wait.SHARED] = shared.ctypes.data
    assert core().raise_flag(sync.ctypes.data, 1) == 0
    assert core().any_flag(sync.ctypes.data) == 1
    core().raise_flag(sync.ctypes.data, -1)
    assert core().any_flag(sync.ctypes.data) == 0 == flags.any_flag(sync)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), TypeError),
        ((1, 2, 3), TypeError),
        ((1.5, 2), TypeError),
        (("1", 2), TypeError),
        ((1 << 63, 2), OverflowError),
    ],
)
def test_wrong_arguments_raise_an_error_before_the_call(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        core().watch(*arguments)


def test_other_threads_run_during_a_call() -> None:
    """One thread sleeps in machine code until another one, which needs the interpreter's lock, ends its sleep."""
    shared = np.zeros(wait.SHARED_WORDS, np.int64)
    address, seen = shared.ctypes.data, []
    sleeper = threading.Thread(target=lambda: seen.append(core().watch(address, 0)), daemon=True)
    sleeper.start()
    time.sleep(0.02)  # only so that the sleep has probably begun; it ends in any case
    assert core().rouse(address) == 1
    sleeper.join(10)
    assert seen == [1]


def test_every_entry_point_is_a_function_of_python() -> None:
    for function, _ in Core._entries:
        assert type(getattr(core(), function.__name__)) is type(len)
