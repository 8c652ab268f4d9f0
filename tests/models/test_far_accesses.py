"""Cost functions with far accesses: their amounts, and the prices that the fit finds again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.errors import FitError
from smp.models.supersteps.far import FAR, TERMS, amounts, charges, fit_far, predict_far

COUNTS = ("hr", "hw", "m", "far_reads", "far_writes", "m_far", "messages")
BYTES = ("hr_bytes", "hw_bytes", "m_bytes")
ROWS = np.dtype([(name, "i8") for name in (*COUNTS, *BYTES)])
PRICES = dict(zip(TERMS, (1e-4, 2e-9, 3e-9, 1e-9, 5e-9, 7e-9, 4e-9, 2e-5), strict=True))


def supersteps(seed: int, n: int = 60, itemsize: int = 8, far: bool = True) -> np.ndarray:
    """Return random counts, such as four processors may have."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(n, ROWS)
    rows["hr"], rows["hw"] = rng.integers(1, 100_000, (2, n))
    rows["m"] = (rows["hr"] + rows["hw"]) * rng.uniform(1, 4, n)
    if far:
        rows["far_reads"], rows["far_writes"] = rows["hr"] * rng.random(n), rows["hw"] * rng.random(n)
        rows["m_far"] = (rows["far_reads"] + rows["far_writes"]) * rng.uniform(1, 4, n)
        rows["messages"] = rng.integers(0, 20, n)
    for name in ("hr", "hw", "m"):
        rows[f"{name}_bytes"] = rows[name] * itemsize
    return rows


@given(st.integers(0, 1000), st.sampled_from(("good", "bad")))
def test_the_fit_finds_the_prices_of_exact_times(seed: int, family: str) -> None:
    rows = supersteps(seed)
    seconds = predict_far({"family": family, "terms": TERMS, "coefficients": [*PRICES.values()]}, rows)
    model = fit_far(family, rows, seconds)
    assert dict(zip(model.terms, model.coefficients.tolist(), strict=True)) == pytest.approx(PRICES, rel=1e-4)


def test_a_machine_of_one_node_has_no_far_terms() -> None:
    rows = supersteps(1, far=False)
    near = {term: price for term, price in PRICES.items() if term not in FAR}
    seconds = predict_far({"family": "good", "terms": [*near], "coefficients": [*near.values()]}, rows)
    model = fit_far("good", rows, seconds)
    assert model.terms == tuple(near)
    assert model.coefficients == pytest.approx([*near.values()], rel=1e-4)


def test_good_counts_words_of_eight_bytes_and_bad_counts_elements() -> None:
    rows = supersteps(2, itemsize=4)
    good, bad = amounts("good", rows), amounts("bad", rows)
    for term in ("ghr", "ghw", "gM", "gfr", "gfw", "gMf"):
        assert good[term] == pytest.approx(bad[term] / 2), term
    for term in ("L", "gms"):
        assert np.array_equal(good[term], bad[term])


def test_the_charges_of_all_terms_add_up_to_the_prediction() -> None:
    rows = supersteps(3)
    function = {"family": "bad", "terms": TERMS, "coefficients": [*PRICES.values()]}
    parts = charges(function, rows)
    assert set(parts) == set(TERMS)
    assert np.sum([*parts.values()], axis=0) == pytest.approx(predict_far(function, rows))
    assert parts["gms"] == pytest.approx(2e-5 * rows["messages"])


def test_other_families_are_refused() -> None:
    with pytest.raises(FitError, match="no access family 'random' on several nodes: choose good or bad"):
        amounts("random", supersteps(4))
