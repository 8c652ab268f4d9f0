"""Fixtures that the tests of the kernels share."""

import pytest

from smp.kernels.sorting.by_vectors import vectors


@pytest.fixture
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sorting kernels run as on a CPU without the vector instructions."""
    monkeypatch.setattr(vectors, "has_vectors", lambda: False)
