"""Predictions by chosen forms: by footprint, with the words of the other processors, with knees of their own."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from smp._runtime.program.steps import SUMMARY
from smp.errors import ProfileError
from smp.models.supersteps.cost import Others
from smp.profiles.access import Access
from smp.profiles.charges import accesses
from smp.profiles.kept_apart import errors_apart, judge
from smp.profiles.profile import Profile

KIB = 128  # words of 8 bytes


def form(family: str, chosen: bool, footprint: int | None = None, **terms: Any) -> dict[str, Any]:
    knees = terms.pop("knees", [])
    return {
        "family": family,
        "p": 2,
        "footprint": footprint,
        "name": "HrHwN-c",
        "fit_suite": 2,
        "chosen": chosen,
        "terms": list(terms),
        "coefficients": list(terms.values()),
        "knees": knees,
        "off": [],
    }


def turn(family: str, suite: int, average: float) -> dict[str, Any]:
    head = {"family": family, "p": 2, "name": "HrHwN-c", "chosen_by": 4 - suite, "suite": suite}
    return {**head, "average": average, "maximum": 2 * average, "count": 10}


@pytest.fixture
def profile() -> Profile:
    forms = [
        form("good", True, L=1e-6, ghr1=1e-9, ghr2=3e-9, knees=[100.0]),
        form("good", False, L=9.0),
        form("bad", True, L=0.0, ghr=2e-9, ghw=2e-9, gnw=10e-9),
        *(form("random", True, words * KIB, L=0.0, ghr=ns * 1e-9) for words, ns in ((64, 1.0), (1024, 5.0))),
    ]
    functions = [
        {"family": family, "p": 2, "name": "H", "set": "all", "terms": ["L", "gh"], "coefficients": [0.0, 1.0]}
        for family in ("good", "bad")
    ]
    turns = [turn("good", 1, 0.02), turn("good", 3, 0.06), turn("bad", 1, 0.30), turn("bad", 3, 0.10)]
    tiers = [{"name": "beyond", "words": None}]
    access = {"word_bytes": 8, "tiers": tiers, "functions": functions, "validation": [], "forms": forms}
    return Profile({"access": access | {"turns": turns, "patterns": []}})


def test_the_chosen_form_predicts_with_its_own_knees(profile: Profile) -> None:
    assert profile.predict("good", 2, [50, 150], [0, 0], [50, 150]) == pytest.approx([1.05e-6, 1.25e-6])


def test_words_that_a_second_processor_writes_are_charged(profile: Profile) -> None:
    alone, both = Others.of([[0, 0]], [[100, 0]]), Others.of([[0, 0]], [[100, 60]])
    assert profile.predict("bad", 2, [0], [100], [100], alone) == pytest.approx([200e-9])
    assert profile.predict("bad", 2, [0], [100], [160], both) == pytest.approx([800e-9])
    assert profile.predict("bad", 2, [0], [100], [160]) == pytest.approx([800e-9]), "the other's words follow from M"


@pytest.mark.parametrize(("kib", "ns"), [(1, 1.0), (64, 1.0), (256, 3.0), (1024, 5.0), (1 << 20, 5.0), (math.inf, 5.0)])
def test_random_accesses_are_predicted_for_the_footprint_of_a_superstep(
    profile: Profile, kib: float, ns: float
) -> None:
    seconds = profile.predict("random", 2, [1000], [0], [1000], footprint=[kib * KIB])
    assert seconds == pytest.approx([1000 * ns * 1e-9])


def test_random_accesses_without_a_footprint_are_those_of_the_largest_memory(profile: Profile) -> None:
    assert profile.predict("random", 2, [1000], [0], [1000]) == pytest.approx([5e-6])


def test_families_that_were_not_measured_are_not_predicted(profile: Profile) -> None:
    profile.data["access"]["forms"] = [row for row in profile.access["forms"] if row["family"] == "good"]
    assert np.isnan(profile.predict("random", 2, [1], [1], [2])).all()
    profile.data["access"]["functions"] = profile.access["functions"][:1]
    with pytest.raises(ProfileError, match="no function HrHwM of the bad family"):
        profile.predict("bad", 2, [1], [1], [2])


def test_only_errors_on_suites_that_neither_fitted_nor_chose_count(profile: Profile) -> None:
    assert errors_apart(profile, "good", 2) == {1: 0.02, 3: 0.06}
    judge(profile)
    assert profile.access["valid"] is False
    (why,) = profile.access["why"]
    assert why == "p = 2, bad: HrHwN-c is off by 30% on suite 1, which it was not fitted on (valid to 25%)"


def test_each_of_several_chosen_forms_needs_its_footprint(profile: Profile) -> None:
    Access.model_validate(profile.access)
    forms = [row | {"footprint": None} for row in profile.access["forms"]]
    with pytest.raises(
        ValidationError, match="2 forms of random are chosen for p = 2: each needs a footprint of its own"
    ):
        Access.model_validate(profile.access | {"forms": forms})


def of_a_walk(reads: int, chain: int, footprint: int) -> NDArray[np.void]:
    made = np.zeros(1, SUMMARY)
    made["label"], made["hr"], made["m"], made["chain"], made["footprint"] = "walk", reads, reads, chain, footprint
    return made


LATENCY = {"latency": {"shared": [{"bytes": 1 << k, "ns": ns, "valid": True} for k, ns in ((10, 2.0), (20, 12.0))]}}


@pytest.mark.parametrize(("footprint", "ns"), [(1, 2.0), (1 << 10, 2.0), (1 << 15, 7.0), (1 << 20, 12.0), (0, 12.0)])
def test_dependent_reads_are_charged_the_latency(profile: Profile, footprint: int, ns: float) -> None:
    profile.data |= LATENCY
    random = 5.0 if footprint in (0, 1 << 20) else 1.0  # ns per word; an unknown footprint counts as the largest
    (walk,) = profile.interval(of_a_walk(1000, 100, footprint), 2).random
    assert walk == pytest.approx((900 * random + 100 * ns) * 1e-9)
    (apart,) = profile.interval(of_a_walk(1000, 0, footprint), 2).random
    assert apart == pytest.approx(1000 * random * 1e-9)


def test_a_factored_model_also_charges_dependent_reads(profile: Profile) -> None:
    profile.data |= LATENCY
    walk = of_a_walk(1000, 100, 1 << 15)
    model = accesses(profile, walk, 2, "random")
    assert model.seconds() == pytest.approx(profile.interval(walk, 2).random)
    assert model.total({"random latency": 2.0}) == pytest.approx(model.total() + 700e-9)


def test_without_a_valid_latency_dependent_reads_are_charged_like_the_others_with_a_note(profile: Profile) -> None:
    profile.data["latency"] = {"shared": [{"bytes": 1024, "ns": 2.0, "valid": False}]}
    found = profile.interval(of_a_walk(1000, 100, 1024), 2)
    assert found.random == pytest.approx([1000e-9])
    assert found.notes == (
        "reads of 'walk' depend on one another, but this profile has no latency to charge for them: measure it too",
    )
    assert profile.interval(of_a_walk(1000, 0, 1024), 2).notes == ()
