"""Forms of cost functions: known prices are recovered, and a choice's error is that of data that did not choose."""

import numpy as np
import pytest
from numpy.typing import NDArray

from smp.errors import FitError
from smp.models.supersteps.cost import NAMES, Others, columns, matrix_of, predict, split, term_names
from smp.models.supersteps.forms import chosen, fit_forms, names_for, turns
from smp.models.supersteps.knees import find_knees
from smp.models.supersteps.measured import Measured
from smp.models.supersteps.suites import sizes, suite

Prices = dict[str, float]
CONTENDED = {"L": 2e-6, "ghr": 2.1e-9, "ghw": 1.7e-9, "gnr": 0.1e-9, "gnw": 9.6e-9}


def suites(prices: Prices, p: int, noise: float = 0.0, knees: tuple[float, ...] = ()) -> dict[int, Measured]:
    """Return the times of a machine with these prices for the patterns of the suites."""
    rng = np.random.default_rng(p)
    made = {}
    for number in (1, 2, 3):
        patterns = suite(number, p, sizes("default"), rng)
        hr, hw, m = (np.array([getattr(a, name) for a in patterns], float) for name in ("hr", "hw", "m"))
        others = Others.of([a.reads for a in patterns], [a.writes for a in patterns])
        levels = (*knees, np.inf)
        seconds = matrix_of(tuple(prices), hr, hw, m, levels, others) @ np.array(list(prices.values()))
        made[number] = Measured(hr, hw, m, seconds * np.exp(noise * rng.standard_normal(len(m))), others)
    return made


def test_others_exclude_the_busiest_processor() -> None:
    others = Others.of([[5, 9, 2], [4, 0, 0]], [[1, 1, 1], [0, 3, 7]])
    assert others.next_reads.tolist() == [5, 0]
    assert others.next_writes.tolist() == [1, 3]
    assert others.other_reads.tolist() == [7, 0]
    assert others.other_writes.tolist() == [2, 3]


def test_others_assumed_from_counts_are_exact_if_all_processors_do_the_same() -> None:
    for p in (1, 2, 5):
        known = Others.of([[100] * p], [[40] * p])
        assumed = Others.assumed([100], [40], [140 * p])
        assert [words.tolist() for words in assumed] == [words.tolist() for words in known]


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_the_columns_of_its_terms(name: str) -> None:
    others = Others.of([[70, 40, 10]], [[30, 20, 5]])
    matrix, terms = columns(name, [70], [30], [175], (25, np.inf), others)
    row = dict(zip(terms, matrix[0].tolist(), strict=True))
    whole = {"L": 1, "gh": 70, "ghr": 70, "ghw": 30, "gM": 175, "gnr": 40, "gnw": 20, "gor": 50, "gow": 25}
    for term in {term[:3].rstrip("12") for term in terms}:
        assert sum(value for split, value in row.items() if split.rstrip("12") == term) == whole[term]
    assert term_names(name, 2) == terms


@pytest.mark.parametrize("p", [2, 4])
def test_contention_is_recognised_by_the_words_of_the_second_processor(p: int) -> None:
    forms = {form.name: form for form in fit_forms(p, suites(CONTENDED, p))}
    found = dict(zip(forms["HrHwN"].fit.terms, forms["HrHwN"].fit.coefficients, strict=True))
    assert found == pytest.approx(CONTENDED, rel=1e-6)
    assert forms["HrHwN"].error(1, 3) < 1e-9
    assert min(forms[name].error(1, 3) for name in ("H", "HM", "HrHw", "HrHwM")) > 0.1


def test_with_more_than_two_processors_the_suites_choose_whose_words_contend() -> None:
    others = {"L": 2e-6, "ghr": 2e-9, "ghw": 2e-9, "gor": 0.5e-9, "gow": 4e-9}
    assert chosen(fit_forms(4, suites(CONTENDED, 4, noise=0.01)), 1, 3).name.startswith("HrHwN")
    assert chosen(fit_forms(4, suites(others, 4, noise=0.01)), 1, 3).name.startswith("HrHwO")


def test_knees_are_found_where_the_price_changes_and_only_there() -> None:
    prices = {"L": 1e-6, "ghr1": 0.1e-9, "ghw1": 0.1e-9, "ghr2": 0.4e-9, "ghw2": 0.5e-9, "gM": 0.02e-9}
    found = find_knees("HrHwM-c", 2, suites(prices, 2, noise=0.01, knees=(200_000,))[2])
    assert found  # one, or the two candidates next to it
    assert all(100_000 < knee < 400_000 for knee in found)
    assert find_knees("HrHwN-c", 2, suites(CONTENDED, 2, noise=0.01)[2]) == ()


def test_the_error_of_a_choice_is_that_of_the_suite_that_neither_fitted_nor_chose() -> None:
    forms = fit_forms(2, suites(CONTENDED, 2, noise=0.03))
    made = {(turn.chosen_by, turn.suite): turn for turn in turns(forms)}
    assert set(made) == {(1, 3), (3, 1)}
    by_name = {form.name: form for form in forms}
    for (by, suite_), turn in made.items():
        best = min(forms, key=lambda form: float(form.off[by].mean()))
        assert turn.name == best.name
        assert turn.average == pytest.approx(by_name[turn.name].off[suite_].mean())
        assert turn.maximum == pytest.approx(by_name[turn.name].off[suite_].max())
        assert turn.average < 0.05


def test_the_errors_are_those_of_the_fitted_function() -> None:
    made = suites(CONTENDED, 2, noise=0.05)
    for form in fit_forms(2, made):
        function = {"terms": form.fit.terms, "coefficients": form.fit.coefficients, "knees": form.knees}
        for number in (1, 3):
            part = made[number]
            seconds = predict(function, part.hr, part.hw, part.m, others=part.others)
            assert form.off[number] == pytest.approx(np.abs(seconds / part.seconds - 1))


def test_one_processor_has_no_others_and_is_fitted_to_reads_that_differ_from_writes() -> None:
    prices = {"L": 1e-6, "ghr": 2e-9, "ghw": 5e-9}
    forms = fit_forms(1, suites(prices, 1))
    assert [form.name for form in forms] == list(names_for(1))
    best = chosen(forms, 1, 2)
    assert best.name == "HrHw"
    assert best.fit.coefficients == pytest.approx(list(prices.values()), rel=1e-6)


def test_forms_that_cannot_be_fitted_are_refused_or_omitted() -> None:
    made = suites(CONTENDED, 2)
    with pytest.raises(FitError, match=r"the forms are fitted on suite 2, but only suites \[1, 3\] were measured"):
        fit_forms(2, {number: made[number] for number in (1, 3)})
    few: NDArray[np.bool_] = np.arange(len(made[2].m)) < 6
    assert {form.name for form in fit_forms(2, {**made, 2: made[2].where(few)})} == {
        *("H", "HM", "HrHw", "HrHwM", "HrHwM-c")
    }
    with pytest.raises(FitError, match="no form to choose from"):
        chosen([], 1)
    assert all(form.knees == () for form in fit_forms(2, made) if not split(form.name))
