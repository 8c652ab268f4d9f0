"""Parameters and numbers of inputs of which some belong to the ordinary run, and all to the campaigns.

A test says so itself where some of its cases are long by nature.  ``tests/campaigns.txt`` lists what else the ordinary
run leaves out to end in time: a share and a test in each line.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

LISTED = Path(__file__).parent.parent / "campaigns.txt"


def each(step: int, cases: Iterable[Any]) -> list[Any]:
    """Return parameters of a test, of which all but every ``step``-th are marked as slow."""
    made = []
    for k, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        made.append(case if k % step == 0 else pytest.param(*values, marks=pytest.mark.slow))
    return made


def campaigns(*cases: Any) -> list[Any]:
    """Return parameters of a test, all of which belong to the campaigns only."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def examples(number: int) -> int:
    """Return how many inputs a test of a property gets: ``number`` in campaigns, at most 20 in the ordinary run."""
    usual = settings.default.max_examples  # 20 in the ordinary run, which loads a profile of that name
    return min(number, usual) if usual < 100 else number


def shares() -> dict[str, Fraction]:
    """Return the shares of cases that the ordinary run has, by file and name of the tests that are listed."""
    lines = [line.split() for line in LISTED.read_text(encoding="utf-8").splitlines()]
    return {line[1]: Fraction(line[0]) for line in lines if line and line[0] != "#"}


def leave_out(items: Iterable[pytest.Item]) -> None:
    """Mark cases of listed tests as slow, until the ordinary run has no more than their share.

    It is a share of the cases with MPI, and of those without.  Which ones stay depends on checksums of their names: in
    a product of parameters, every third case could have the same value of one of them.
    """
    listed, cases = shares(), defaultdict(list)
    for item in items:
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        if name in listed and item.get_closest_marker("slow") is None:
            cases[name, item.get_closest_marker("mpi") is None].append(item)
    for (name, _), found in cases.items():
        mixed = sorted(found, key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in mixed[ceil(len(mixed) * listed[name]) :]:
            item.add_marker(pytest.mark.slow)
