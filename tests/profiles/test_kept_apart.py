"""Cost functions are judged by the suites that they were not fitted on."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.profiles import charging

from smp.errors import ProfileError
from smp.profiles.kept_apart import errors_apart, judge, reasons
from smp.profiles.profile import Profile


def checked(family: str, name: str, part: str, suite: int, average: float, count: int = 9) -> dict[str, Any]:
    row = {"family": family, "p": 2, "name": name, "set": part, "suite": suite}
    return row | {"average": average, "maximum": 2 * average, "count": count}


def judged(*validation: dict[str, Any], **more: Any) -> Profile:
    profile = charging()
    profile.data["access"] |= {"validation": list(validation), "valid": True, "why": [], **more}
    judge(profile)
    return profile


def test_accurate_functions_stay_valid() -> None:
    access = judged(checked("bad", "HrHwM", "all", 1, 0.25), checked("bad", "HrHwM", "all", 3, 0.03)).access
    assert (access["valid"], access["why"]) == (True, [])


def test_an_inaccurate_function_is_named_with_its_suites() -> None:
    profile = judged(
        checked("bad", "HrHwM", "all", 1, 0.334),
        checked("bad", "HrHwM", "all", 3, 0.256),
        checked("random", "HrHwM", "all", 1, 0.1),
        why=["p = 2, bad: 4 of 72 patterns were disturbed every time and left out"],
    )
    off = "p = 2, bad: HrHwM is off by 33% on suite 1 and by 26% on suite 3, which it was not fitted on (valid to 25%)"
    assert profile.access["valid"] is False
    assert profile.access["why"] == [off, "p = 2, bad: 4 of 72 patterns were disturbed every time and left out"]
    before = json.loads(json.dumps(profile.data))
    judge(profile)
    assert profile.data == before, "the reason is given only once"


def test_only_the_functions_that_predict_are_judged() -> None:
    off = [checked("bad", name, "all", 1, 0.9) for name in ("H", "HM", "HrHw")]
    off += [checked("good", "HrHwM-c", part, 2, 0.9) for part in ("R0", "R1")]  # there is only a function for all sizes
    assert judged(*off).access["valid"]


def test_the_parts_of_good_are_weighted_by_their_numbers_of_patterns() -> None:
    profile = charging()
    (whole,) = (row for row in profile.access["functions"] if row["family"] == "good")
    profile.data["access"]["functions"] += [whole | {"set": part} for part in ("R0", "R1")]
    profile.data["access"]["private_words"] = 1000
    profile.data["access"]["validation"] = [
        checked("good", "HrHwM-c", "R0", 2, 0.1, count=3),
        checked("good", "HrHwM-c", "R1", 2, 0.5, count=1),
        checked("good", "HrHwM-c", "R1", 3, 0.4, count=1),
        checked("good", "HrHwM-c", "all", 2, 0.9),
    ]
    assert errors_apart(profile, "good", 2) == pytest.approx({2: 0.2, 3: 0.4})
    assert reasons(profile) == [
        "p = 2, good: HrHwM-c is off by 40% on suite 3, which it was not fitted on (valid to 25%)"
    ]


def test_a_profile_of_an_earlier_version_is_judged_when_it_is_opened(tmp_path: Path) -> None:
    earlier = charging()
    earlier.data["access"] |= {"validation": [checked("bad", "HrHwM", "all", 1, 0.43)], "valid": True, "why": []}
    earlier.save(tmp_path / "profile.json")
    access = Profile.load(tmp_path).access
    assert not access["valid"]
    assert "HrHwM is off by 43% on suite 1" in access["why"][0]


def test_a_damaged_validation_is_named(tmp_path: Path) -> None:
    damaged = charging()
    damaged.data["access"]["validation"] = [{"family": "bad"}]
    damaged.save(tmp_path / "profile.json")
    with pytest.raises(ProfileError, match=r"profile.json is damaged: access.validation\[0\]"):
        Profile.load(tmp_path)
