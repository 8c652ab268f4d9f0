"""Sorts on emulated machines next to what Brewer's thesis prints of them (sections 4.5 and 5.3)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

import smp
from smp import machines
from smp.machines import MachineFile

from ..rows import Part, Row, near
from .regained import Printed, compared
from .sorts import OVERSAMPLING, SAMPLE_DIGIT, Sorts, largest_part

PROCESSORS = 64
MACHINES = ("cm5", "alewife", "paragon", "atm")
MOST = 10_000
"""Largest number of keys of a processor."""
DRAWS = 25
CROSSINGS: dict[str, dict[int, list[tuple[str, str, int]]]] = {
    "alewife": {16: [("4", "10", 2604)], 24: [("4", "sample", 1288)], 32: [("4", "sample", 819)]},
    "cm5": {
        16: [("4", "10", 583), ("10", "sample", 6551)],
        24: [("4", "10", 391), ("10", "sample", 1607)],
        32: [("4", "10", 291), ("10", "sample", 875)],
    },
    "paragon": {8: [("4", "10", 692)], 16: [("4", "sample", 547)], 32: [("4", "sample", 215)]},
    "atm": {8: [("4", "10", 391)], 16: [("4", "sample", 318)], 32: [("4", "sample", 127)]},
}
"""Last number of keys of a processor at which the first algorithm still wins (table 4-4, actual)."""
TREE = [
    "rounds", "bins * rounds", "log2(processors) * rounds", "bins * rounds * log2(processors)", "keys * rounds",
]  # fmt: skip
ALL = ["bins", *TREE, "log2(processors)"]
RADIX: dict[str, Printed] = {
    "cm5": Printed({"keys * rounds": 9.92, "log2(processors)": 77.36}, 1.33),
    "alewife": Printed(dict(zip(["1", *TREE], (481, 5.45, 2.31, 8.73, 2.70, 6.41), strict=True)), 1.81),
    "paragon": Printed(dict(zip(["1", *TREE], (502, 7.18, 2.64, 10.1, 2.70, 28.16), strict=True)), 1.96),
    "atm": Printed({"1": 502}, 2.21),
}
"""Coefficients in us (figures 4-15 and 4-16); the model of the ATM is printed with those of the Paragon.  That of the
CM-5 has 11.41 us for each bucket, whatever the number of rounds: see `CM5_BUCKETS`."""
CM5_BUCKETS = Printed({"bins": 11.41}, math.inf)
SAMPLE: dict[str, Printed] = {
    "cm5": Printed({"1": 26344, "keys": 14.21, "keys * log2(processors)": 0.43}, 2.86),
    "alewife": Printed({"1": 11651, "keys": 11.96, "keys * log2(processors)": 0.51}, 3.02),
    "paragon": Printed({"1": 16663, "keys": 33.74, "keys * log2(processors)": 0.51}, 3.22),
    "atm": Printed({"1": 16515, "keys": 67.80, "keys * log2(processors)": 0.51}, 3.44),
}
"""Coefficients in us, without the radix sort of the sample."""


@functools.cache
def sorts(machine: MachineFile, processors: int = PROCESSORS) -> Sorts:
    """Return the times of sorts on a machine, which are kept."""
    return Sorts(machine, processors)


def tables(quick: bool) -> list[Part]:
    """Return all tables on sorts."""
    return [crossings(), digits(), *(models(name) for name in MACHINES)]


def mean_largest(keys: int, width: int, processors: int = PROCESSORS, draws: int = DRAWS) -> float:
    """Return the mean number of keys in the largest part of sample sort."""
    rng = np.random.default_rng((keys, width, processors))
    return float(np.mean([largest_part(keys, processors, width, rng) for _ in range(draws)]))


def time_of(times: Sorts, algorithm: str, keys: int, width: int) -> float:
    """Return the seconds of an algorithm: sample sort, or radix sort by its number of bits."""
    if algorithm == "sample":
        return times.sample(keys, round(mean_largest(keys, width, times.processors)))
    return times.radix(keys, width, int(algorithm))


def crossing(first: Callable[[int], float], second: Callable[[int], float], most: int = MOST) -> int:
    """Return the last number of keys at which the first time is below the second; they cross once at most."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first(middle) < second(middle) else (low, middle - 1)
    return low


def crossings() -> Part:
    """Return where the fastest algorithm changes."""
    rows, fastest = [], set()
    for name in MACHINES:
        times = sorts(machines.load(name))
        for width, found in CROSSINGS[name].items():
            for left, right, printed in found:
                last = crossing(
                    functools.partial(_time, times, left, width), functools.partial(_time, times, right, width)
                )
                kind = "set" if width == 32 else "pred"
                rows.append(near("", f"{name}, {width} bits, {left} to {right}", printed, last, "keys", kind, 0.10))
        for width in (8, 16, 24, 32):
            for keys in (10, 100, 300, 1000, 3000, 10_000):
                some = ("4", "10", "14", "sample")
                fastest.add(min(some, key=lambda one: time_of(times, one, keys, width)))
    rows.append(Row("", "14-bit digits win somewhere (1: yes)", 0, "14" in fastest, "", "pred", 0, 0))
    remark = "the costs of keys and buckets were set from 32 bits, on each machine"
    return Part("sorts: last number of keys of a processor at which the first algorithm wins", rows, remarks=[remark])


def _time(times: Sorts, algorithm: str, width: int, keys: int) -> float:
    return time_of(times, algorithm, keys, width)


def best_digit(times: Sorts, keys: int, width: int) -> int:
    """Return the number of bits of a digit with which radix sort takes the least time."""
    return min(range(1, 17), key=lambda digit: times.radix(keys, width, digit))


def digits() -> Part:
    """Return the best digits of 28-bit keys on the CM-5 (section 5.3)."""
    times, width = sorts(machines.load("cm5")), 28
    behind = 1e3 * (times.radix(1000, width, 10) - times.radix(1000, width, 7))
    first = next((keys for keys in range(100, MOST, 100) if best_digit(times, keys, width) == 10), MOST)
    large = best_digit(times, 1_000_000, width)
    rows = [
        Row("", "bits at 1,000 keys", 7, best_digit(times, 1000, width), "", "pred", 7, 7),
        Row("", "10 bits behind 7 at 1,000 keys", 0.31, behind, "ms", "shown"),
        Row("", "keys from which 10 bits are best", 2000, first, "keys", "pred", 1000, 9999),
        Row("", "bits at 1,000,000 keys", 14, large, "", "pred", 14, 14),
    ]
    remark = "printed: 7 bits around 1,000 keys; 10 above, from some thousands; 14 for large sorts"
    return Part("radix sort: best digits of 28-bit keys on the CM-5", rows, remarks=[remark])


def models(name: str) -> Part:
    """Return the models of both sorts, calibrated with the terms of the thesis, next to the printed ones."""
    machine = machines.load(name)
    some = {"keys": "30..10000 x 5", "digit": "4, 8, 10, 14", "width": "8, 16, 24, 32", "processors": "16, 32, 64"}
    inputs = {"keys": "30..10000", "bins": "16, 256, 1024, 16384", "rounds": "linear 1..8", "processors": "16, 32, 64"}
    radix = smp.Specification(
        "radix", inputs, ALL,
        lambda keys, digit, width, processors: sorts(machine, processors).radix(keys, width, digit),
        setup=lambda keys, digit, width, processors: (keys, digit, width, processors),
        loops=some,
        of=lambda keys, digit, width, processors: (keys, 2**digit, -(-width // digit), processors),
        clocked=True,
    )  # fmt: skip
    rng = np.random.default_rng(17)

    def sampled(keys: int, processors: int) -> float:
        times = sorts(machine, processors)
        own = times.radix(OVERSAMPLING, 32, SAMPLE_DIGIT)
        return times.sample(keys, largest_part(keys, processors, 32, rng)) - own

    sample = smp.Specification(
        "sample",
        {"keys": "30..10000 x 16", "processors": "16, 32, 64"},
        ["keys", "keys * log2(processors)", "processors", "processors * log2(processors)"],
        sampled,
        clocked=True,
    )
    model = smp.calibrate(radix)
    rows = compared("radix", model, radix, RADIX[name], 1e6, "us", "set")
    if name == "cm5":
        rows += compared("radix", model, radix, CM5_BUCKETS, 1e6, "us", "pred")[:1]
    found, printed = smp.calibrate(sample), SAMPLE[name]
    of_keys = {term: c for term, c in printed.coefficients.items() if term.startswith("keys")}
    at = {"keys": np.array([0.0]), "processors": np.array([float(PROCESSORS)])}
    parts = zip(found.terms.items(), found.coefficients, strict=True)
    rest = sum(float(c * term.of(at)[0]) for (text, term), c in parts if not text.startswith("keys"))
    what = f"sample: the rest, on {PROCESSORS} processors"
    rows.append(near("", what, printed.coefficients["1"], 1e6 * rest, "us", "set", 0.10))
    rows += compared("sample", found, sample, Printed(of_keys, printed.mre), 1e6, "us", "set")
    return Part(f"sorts: models of {name} with the terms of the thesis", rows)
