"""Predict the effect of a barrier, or a memory, twice as fast, by factored models from a stored profile."""

import copy
from pathlib import Path

import smp
from smp.microbench.predictions.changes import calibrated, cross, impact, opened
from smp.microbench.predictions.report_impact import impact_report

here, p = opened(Path(__file__).with_suffix(".json")), 4

print("radix sort on 4 processors: time saved")
for n in (10_000, 4_000_000):
    for what, change in (("barrier", {"barrier": 0.5}), ("memory", {"gh?2": 0.5})):  # tier 1 is the cache
        print(f"  {what} twice as fast, n = {n:,}: {1 - impact(here, 'radix', n, p, change):.1%}")
print()

hybrid = calibrated(here, "radix", p)  # includes local computation, by the sorts in the profile
print(impact_report(here, "radix", 4_000_000, p, hybrid=hybrid))
print()

proposed = copy.deepcopy(here.data)  # a machine that does not exist: the same with memory twice as fast
proposed["machine"]["name"] = "proposed machine"
for function in proposed["access"]["functions"]:
    for k, term in enumerate(function["terms"]):
        if term in ("ghr2", "ghw2", "ghr", "ghw"):
            function["coefficients"][k] /= 2
there = smp.Profile(proposed)
for profile in (here, there):
    seconds = cross(profile, "radix", 4_000_000, p, hybrid).seconds
    print(f"radix sort, n = 4,000,000, p = 4, on the {profile.data['machine']['name']}: {seconds * 1e3:.1f} ms")
print()

for each in smp.compare(here, there, sizes=[10_000, 4_000_000]).foretold:
    good, bad = each.gains
    print(f"{each.kernel}, n = {each.n:,}: {good:.2f} (good) to {bad:.2f} (bad) times as fast there")
