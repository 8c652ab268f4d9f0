"""The sentences of results in a page have the numbers of the profile."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from support.shapes import QUICK

from smp._output.numbers import number
from smp.microbench.report.results import OWN, result
from smp.profiles.profile import Profile, ProfileWarning


@pytest.fixture
def data() -> Any:
    return json.loads(QUICK.read_text(encoding="utf-8"))


def test_every_sentence_quotes_the_profile(data: Any) -> None:
    with warnings.catch_warnings(action="ignore", category=ProfileWarning):
        profile = Profile(data)
    said = {name: result(profile, name) for name in OWN}
    for level in data["latency"]["levels"]:
        assert f"{number(level['ns'])} ns from {level['name'].replace('DRAM', 'memory')}" in said["latency"]
    triad = {row["processors"]: row["GBps"] for row in data["bandwidth"]["stream"] if row["kernel"] == "triad"}
    most = max(triad)
    assert f"{number(triad[most])} GB/s with {most} processors" in said["bandwidth"]
    assert f"{triad[most] / triad[1]:.2f} times" in said["bandwidth"]
    barrier = data["synchronisation"]["barrier_us"][str(most)]
    assert f"{number(1e3 * barrier['compiled'])} ns in compiled code" in said["synchronisation"]
    assert f"{number(1e3 * barrier['python'])} ns from Python" in said["synchronisation"]
    assert said["access"].startswith(f"With {most} processors, a word costs ")


def test_a_section_without_numbers_says_nothing(data: Any) -> None:
    data["latency"]["levels"], data["bandwidth"]["stream"], data["access"]["functions"] = [], [], []
    data["synchronisation"]["barrier_us"] = {}
    with warnings.catch_warnings(action="ignore", category=ProfileWarning):
        profile = Profile(data)
    assert [result(profile, name) for name in OWN] == [""] * len(OWN)
