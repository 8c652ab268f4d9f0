"""Parameters and numbers of inputs of which some belong to the ordinary run, and all to the campaigns."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


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
