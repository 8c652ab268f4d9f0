"""The ordinary run has the share of the cases of a test that is listed, and the campaigns have the others."""

from fractions import Fraction
from typing import Any

import pytest
from support import sampled


class Case:
    """A case of a test, with the names of its markers."""

    def __init__(self, name: str, *marks: str) -> None:
        self.nodeid, self.marks = f"tests/{name}", set(marks)

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.add(mark.name)


def ordinary(order: int) -> list[str]:
    """Return the names of the cases that stay, of ten without MPI, ten with it, five slow ones, and another test."""
    cases: list[Any] = [Case(f"a.py::test_listed[{k}]") for k in range(10)]
    cases += [Case(f"a.py::test_listed[mpi-{k}]", "mpi") for k in range(10)]
    cases += [Case(f"a.py::test_listed[slow-{k}]", "slow") for k in range(5)]
    cases += [Case("a.py::test_other[0]")]
    sampled.leave_out(cases[::order])
    return sorted(case.nodeid for case in cases if "slow" not in case.marks)


@pytest.mark.parametrize(("share", "kept"), [(0, 0), (Fraction(1, 3), 4), (Fraction(1, 2), 5)])
def test_a_share_of_the_cases_stays_in_whatever_order_they_come(
    share: Fraction, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled, "shares", lambda: {"a.py::test_listed": share})
    found = ordinary(1)
    assert found == ordinary(-1)
    assert sum("listed[mpi" in name for name in found) == kept
    assert len(found) == 2 * kept + 1
