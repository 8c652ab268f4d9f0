"""Fixtures that the tests of the kernels share."""

import pytest

from smp.kernels.sorting import at_once
from smp.kernels.sorting.by_vectors import vectors


@pytest.fixture(autouse=True)
def limits_of_replaced_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are not kept, because tests replace what they depend on."""
    monkeypatch.setattr(at_once, "_limits", at_once._limits.__wrapped__)


@pytest.fixture
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sorting kernels run as on a CPU without the vector instructions."""
    monkeypatch.setattr(vectors, "has_vectors", lambda: False)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: False)
    monkeypatch.setattr(vectors, "split_for_streams", lambda: False)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: False)


@pytest.fixture
def splitting(without_vectors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sorting kernels choose as where several streams split keys with vectors, and NumPy sorts on one."""
    monkeypatch.setattr(vectors, "split_for_streams", lambda: True)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: True)


@pytest.fixture
def with_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sorting kernels choose as on a CPU whose vectors are faster than NumPy's."""
    if not vectors.has_vectors():
        pytest.skip("the CPU has neither AVX-512 nor AVX2")
    monkeypatch.setattr(vectors, "beat_numpy", lambda: True)
    monkeypatch.setattr(vectors, "split_for_streams", lambda: False)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: False)
