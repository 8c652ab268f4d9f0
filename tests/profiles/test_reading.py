"""Loops that keep nothing are charged the rate of reading if their time shows it; all other accesses by Good."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smp._runtime.program.steps import SUMMARY
from smp.profiles.profile import Profile
from smp.profiles.reading import seconds_of_loops

OVERHEAD_US = 5.0


def rate(processors: int, GBps: float, kernel: str = "read", **others: Any) -> dict[str, Any]:
    return {"processors": processors, "kernel": kernel, "GBps": GBps, **others}


def profile(*rates: dict[str, Any]) -> Profile:
    """Return a profile: good takes 2 ns per word that the busiest processor reads or writes, bad ten times as much."""
    functions = [
        {"family": family, "p": p, "name": "H", "set": "all", "terms": ["L", "ghr", "ghw"], "coefficients": [0, g, g]}
        for p in (1, 2)
        for family, g in (("good", 2e-9), ("bad", 20e-9))
    ]
    tiers = [{"name": "beyond", "words": None}]
    access = {"word_bytes": 8, "tiers": tiers, "functions": functions, "validation": []}
    overhead = {str(p): [OVERHEAD_US * 1e-6] * 2 for p in (1, 2)}
    return Profile({"access": access | {"overhead_s": overhead}, "bandwidth": {"stream": list(rates)}})


def row(words: int, by_loops: int, seconds: float, everywhere: int | None = None, writes: int = 0) -> NDArray[np.void]:
    """Return a superstep that reads the given number of words, of which loops read ``by_loops``."""
    made, everywhere = np.zeros(1, SUMMARY), by_loops if everywhere is None else everywhere
    made["hr"], made["hw"], made["m"] = words, writes, words + writes
    made["hr_bytes"], made["hw_bytes"], made["m_bytes"] = 8 * words, 8 * writes, 8 * (words + writes)
    made["loop_bytes"], made["m_loop_bytes"], made["copy_in"] = 8 * by_loops, 8 * everywhere, seconds
    return made


QUICK, SLOW = 1e-6, 1.0
N = 1_000_000
GOOD = 2e-9 * N + OVERHEAD_US * 1e-6


@pytest.mark.parametrize(
    ("p", "everywhere", "GBps"), [(1, N, 8.0), (2, N, 8.0), (2, 2 * N, 10.0 / 2), (4, 4 * N, 10.0 / 4)]
)
def test_the_rate_is_that_of_one_processor_or_of_all_together(p: int, everywhere: int, GBps: float) -> None:
    rates = profile(rate(1, 8.0), rate(2, 10.0), rate(1, 1.0, kernel="copy"), rate(2, 1.0, valid=False))
    (seconds,) = seconds_of_loops(rates.data, row(N, N, QUICK, everywhere), p)
    assert seconds == pytest.approx(8 * N / GBps * 1e-9)


def test_a_loop_that_is_faster_than_copies_is_charged_the_rate_of_reading() -> None:
    measured = profile(rate(1, 8.0))
    (good,) = measured.interval(row(N, N, QUICK), 1).good
    assert good == pytest.approx(1e-9 * N + OVERHEAD_US * 1e-6)
    assert measured.interval(row(N, N, GOOD * 1.01), 1).good == pytest.approx([GOOD]), "as slow as a loop with copies"
    assert measured.interval(row(N, 0, QUICK), 1).good == pytest.approx([GOOD]), "copy_in writes what it reads"


def test_words_that_loops_do_not_read_are_charged_as_usual() -> None:
    (good,) = profile(rate(1, 8.0)).interval(row(N, N // 4, QUICK, writes=N), 1).good
    assert good == pytest.approx(2e-9 * (N * 3 / 4 + N) + 1e-9 * N / 4 + OVERHEAD_US * 1e-6)


@pytest.mark.parametrize("rates", [[], [rate(1, 8.0, valid=False)], [rate(1, 8.0, kernel="triad")], [rate(1, 2.0)]])
def test_without_a_rate_or_with_a_low_one_good_does_not_change(rates: list[dict[str, Any]]) -> None:
    assert profile(*rates).interval(row(N, N, QUICK), 1).good == pytest.approx([GOOD])
