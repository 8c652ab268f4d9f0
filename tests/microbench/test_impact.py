"""The parts of a program's time, phase by phase, found from simulated runs whose prices are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.profiles import document

from smp.errors import ProfileError
from smp.microbench import command as cli
from smp.microbench.predictions.impacts import impact_of
from smp.microbench.predictions.phases import by_phase
from smp.microbench.predictions.programs import known_kernels
from smp.microbench.predictions.report_impact import impact_report
from smp.models.supersteps.factored import Factored, between
from smp.profiles.charges import accesses
from smp.profiles.profile import Profile

P, KERNEL = 2, known_kernels()["helman-jaja"]
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
BARRIER, ADDED = 1e-6, (5e-6, 9e-6)
LOC, EACH_NODE, NOISE = 0.3, 2e-9, 0.05
PARTS = ("memory", "barrier", "runtime", "local")


def machine() -> Profile:
    """Return the profile of a machine with known prices, whose bad end is that of the family Bad."""
    data = document()
    data["access"]["functions"] = [row for row in data["access"]["functions"] if row["family"] != "random"]
    data["access"]["overhead_s"] = {"2": list(ADDED)}
    data["synchronisation"] = {"barrier_us": {"2": {"compiled": 0.2, "python": BARRIER * 1e6}}}
    return Profile(data)


def true_parts(n: int, profile: Profile | None = None) -> dict[str, Any]:
    """Return the seconds of each part of each superstep of list ranking on this machine, without noise."""
    known = profile or machine()
    supersteps = KERNEL.cost(n, P)
    ends = accesses(known, supersteps, P, "good", 4), accesses(known, supersteps, P, "bad")
    memory = between(*ends, LOC).seconds()
    runtime = np.full(len(memory), sum(ADDED) / 2 - 2 * BARRIER)
    local = np.full(len(memory), EACH_NODE * KERNEL.work(n, P))
    return {"memory": memory, "barrier": np.full(len(memory), 3 * BARRIER), "runtime": runtime, "local": local}


def true_shares(n: int) -> dict[str, float]:
    sums = {name: float(seconds.sum()) for name, seconds in true_parts(n).items()}
    return {name: seconds / sum(sums.values()) for name, seconds in sums.items()}


def ran(rng: np.random.Generator, sizes: tuple[int, ...] = SIZES, noise: float = NOISE) -> Profile:
    """Return a profile with runs on that machine, in which each phase has some noise."""
    steps = []
    for n in sizes:
        parts = true_parts(n)
        copies = parts["memory"] + parts["runtime"] + 2 * BARRIER
        compute = parts["local"] + BARRIER
        for k, superstep in enumerate(KERNEL.cost(n, P)):
            took = [each[k] * np.exp(rng.normal(0, noise)) for each in (copies, compute)]
            counts = {name: int(superstep[name]) for name in ("hr", "hw", "m")}
            key = {"n": n, "p": P, "algorithm": "helman-jaja", "label": str(superstep["label"])}
            steps.append({**key, **counts, "measured_s": float(took[0]), "compute_s": float(took[1])})
    return Profile(machine().data | {"lists": {"steps": steps, "rows": []}})


@pytest.mark.parametrize("n", [100_000, 1_000_000, 170_000])
def test_true_shares_lie_in_their_intervals(n: int) -> None:
    rng, truth, hit, wide = np.random.default_rng(n), true_shares(n), [], []
    for _ in range(20):
        found = by_phase(ran(rng), KERNEL, n, P).parts
        hit += [found[name].low <= truth[name] <= found[name].high for name in PARTS]
        wide += [found[name].high - found[name].low for name in PARTS]
        assert all(found[name].determined for name in PARTS)
    assert np.mean(hit) > 0.9
    assert np.mean(wide) < 0.25


def test_without_noise_the_parts_are_exact_and_the_prices_are_those_of_the_ends() -> None:
    n = 1_000_000
    found, truth = by_phase(ran(np.random.default_rng(1), noise=0.0), KERNEL, n, P), true_parts(n)
    shares = true_shares(n)
    assert {name: found.parts[name].value for name in PARTS} == pytest.approx(shares, rel=1e-6)
    assert found.model.total() == pytest.approx(sum(each.sum() for each in truth.values()))
    ends = [accesses(machine(), KERNEL.cost(n, P), P, *family).seconds() for family in (("good", 4), ("bad",))]
    seconds = {each.term: each.price * each.amount for each in found.model.derivatives()}
    assert sum(each for term, each in seconds.items() if term.startswith("bad ")) == pytest.approx(
        (1 - LOC) * ends[1].sum(), rel=1e-6
    )
    assert sum(found.prices[term].value for term in found.model.terms) == pytest.approx(1.0)
    assert found.model.impact({"barrier": 0.0}) == pytest.approx(1 - shares["barrier"])
    assert found.measured == SIZES


def test_a_few_accesses_are_hidden_by_the_time_that_the_runtime_adds() -> None:
    """For supersteps of microseconds it is only known that their accesses lie between the ends."""
    data = machine().data
    for row in data["access"]["functions"]:
        if row["family"] != "good":
            row["coefficients"] = [20 * price for price in row["coefficients"]]
    profile = Profile(data)
    small = (500, 1_000, 2_000)
    steps = ran(np.random.default_rng(2), small).data["lists"]["steps"]
    for step in steps:  # a third of the time may be accesses or runtime
        step["measured_s"] = 60e-6
    found = by_phase(Profile(profile.data | {"lists": {"steps": steps}}), KERNEL, 1_000, P)
    assert not found.parts["memory"].determined
    text = impact_report(Profile(profile.data | {"lists": {"steps": steps}}), "helman-jaja", 1_000, P)
    (line,) = [line for line in text.splitlines() if line.startswith("accesses of the copies")]
    assert line.split()[-3:] == ["-", "not", "determined"]
    assert "wider than 50%" in text


def test_prices_that_cannot_be_distinguished_are_refused_but_their_sum_is_not() -> None:
    profile = ran(np.random.default_rng(3))
    for row in profile.data["access"]["functions"]:
        if row["family"] == "bad":
            row["unidentified"] = ["ghr", "ghw"]
    found = by_phase(profile, KERNEL, 1_000_000, P)
    assert found.parts["memory"].determined
    assert found.parts["memory"].value > 0.5
    assert not found.prices["bad ghr"].determined
    assert not found.prices["bad ghw"].determined
    assert found.prices["bad gM"].determined
    made = impact_of(profile, "helman-jaja", 1_000_000, P).to_json()
    by_term = {price["term"]: price for price in made["prices"]}
    assert by_term["bad ghr"]["share"] is None
    assert by_term["bad gM"]["low"] <= by_term["bad gM"]["share"] <= by_term["bad gM"]["high"]
    assert [part["part"] for part in made["parts"]] == list(PARTS)
    json.dumps(made, allow_nan=False)


def test_a_price_is_only_as_certain_as_its_interval() -> None:
    profile = ran(np.random.default_rng(4))
    narrow = by_phase(profile, KERNEL, 1_000_000, P).prices["bad ghr"]
    for row in profile.data["access"]["functions"]:
        row["low"], row["high"] = ([f * price for price in row["coefficients"]] for f in (0.1, 1.9))
    wide = by_phase(profile, KERNEL, 1_000_000, P).prices["bad ghr"]
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_runs_that_say_nothing_about_a_size_are_refused_and_the_charges_are_shown() -> None:
    one = ran(np.random.default_rng(5), (100_000,))
    assert by_phase(one, KERNEL, 100_000, P).parts["memory"].determined
    with pytest.raises(ProfileError, match="at one size only, which does not predict n = 1,000,000"):
        by_phase(one, KERNEL, 1_000_000, P)
    with pytest.raises(ProfileError, match="no run of radix sort on 2 processors"):
        by_phase(one, "radix", 100_000, P)
    found = impact_of(one, "helman-jaja", 1_000_000, P)
    assert found.phases is None
    text = impact_report(one, "helman-jaja", 1_000_000, P)
    assert "Local computation is not included" in text
    assert "at one size only" in " ".join(text.split())


def test_intervals_are_wider_far_from_the_measured_sizes() -> None:
    profile = ran(np.random.default_rng(6))
    widths = [
        share.high - share.low
        for share in (by_phase(profile, KERNEL, n, P).parts["local"] for n in (1_000_000, 1_200_000, 100_000_000))
    ]
    assert widths == sorted(widths)
    assert widths[2] > 2 * widths[0]


def test_repeats_with_a_wider_spread_give_wider_intervals(tmp_path: Path) -> None:
    profile = ran(np.random.default_rng(7))
    (tmp_path / "profile.json").write_text(json.dumps(profile.data))
    widths = []
    for spread in (0.02, 0.3):
        times = np.exp(np.random.default_rng(8).normal(0, spread, 5))
        key = [("n", "i8"), ("p", "i4"), ("algorithm", "U16"), ("repeat", "i4"), ("seconds", "f8")]
        rows = [(n, P, "helman-jaja", k, time) for n in SIZES for k, time in enumerate(times)]
        np.savez(tmp_path / "samples.npz", lists=np.array(rows, key))
        local = by_phase(tmp_path, KERNEL, 1_000_000, P).parts["local"]
        widths.append(local.high - local.low)
    assert widths[0] * 3 < widths[1]


def test_the_command_prints_the_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "profile.json"
    ran(np.random.default_rng(10)).save(file)
    asked = ["--impact", "helman-jaja,1e6,2", "--profile", str(file)]
    assert cli.main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    shares = {part["part"]: part["share"] for part in found["parts"]}
    assert shares == pytest.approx(true_shares(1_000_000), abs=0.05)
    assert sum(price["share"] for price in found["prices"]) == pytest.approx(1.0)
    assert (found["n"], found["measured"]) == (1_000_000, list(SIZES))
    assert cli.main(asked) == 0
    assert f"{1e3 * found['seconds']:.3g} ms by its phases, as measured." in capsys.readouterr().out
    assert cli.main([*asked, "--csv"]) == 0
    assert "# By phase" in capsys.readouterr().out


def test_a_model_of_parts_is_a_factored_model() -> None:
    found = by_phase(ran(np.random.default_rng(9)), KERNEL, 30_000, P)
    assert isinstance(found.model, Factored)
    shares = {each.term: each.share for each in found.model.derivatives()}
    for part in ("barrier", "runtime", "local"):
        assert shares[part] == pytest.approx(found.parts[part].value)
    (local,) = [each for each in found.model.derivatives() if each.term == "local"]
    assert local.amount == pytest.approx(KERNEL.work(30_000, P))
    assert local.price == pytest.approx(3 * EACH_NODE, rel=0.3)  # in each of three supersteps
