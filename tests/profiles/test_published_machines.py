"""A published machine is a profile: it predicts, can be saved and loaded, and names the machine of its times."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.machines import Machines

import smp
from smp.errors import ProfileError
from smp.microbench.command import main
from smp.microbench.predictions.changes import cross, model_of
from smp.models.supersteps.access import Measured, fit_family, paper_errors, sizes, suite
from smp.models.supersteps.cost import predict
from smp.models.supersteps.published import CACHE_WORDS, PROCESSORS
from smp.profiles import Profile, ProfileWarning, charged, published_machine
from smp.profiles.kept_apart import errors_apart, judge, reasons
from smp.profiles.published import ALL, POWER_CHALLENGE, PUBLISHED, opened

TIERS = (CACHE_WORDS, np.inf)


@pytest.fixture
def there() -> Profile:
    return published_machine(POWER_CHALLENGE)


def exchange(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
    with proc.superstep("exchange") as step:
        mine = step.copy_in(a, proc.block(len(a)))
        step.compute()
        step.copy_out(b, proc.block(len(b)), mine)


def test_every_row_has_its_source(there: Profile) -> None:
    access = there.access
    for row in (*access["functions"], *access["validation"]):
        assert "table" in row["source"]
    assert {row["source"] for row in access["validation"]} == {f"table {n}" for n in (5, 6, 7, 8)}
    assert there.data["machine"]["source"]


def test_predictions_are_the_papers_by_hand(there: Profile) -> None:
    # table 2, p = 8: in the L2 cache, and with 100,000 reads beyond it
    small = 140 + 0.0184 * 400_000 + 0.0087 * 100_000 + 0.00005 * 4_000_000
    large = 0.0202 * CACHE_WORDS + 0.0492 * 100_000 + 0.0082 * 300_000 + 0.00027 * 7_000_000
    found = there.predict("good", 8, [400_000, CACHE_WORDS + 100_000], [100_000, 300_000], [4_000_000, 7_000_000])
    assert found * 1e6 == pytest.approx([small, large])
    # table 4, p = 12
    bad = 16555 + 0.2429 * 100_000 + 0.5755 * 200_000 + 0.1697 * 3_000_000
    assert there.predict("bad", 12, 100_000, 200_000, 3_000_000) * 1e6 == pytest.approx([bad])
    assert np.isnan(there.predict("random", 12, [1, 2], [1, 2], [1, 2])).tolist() == [True, True]


def test_another_p_is_interpolated_with_a_note(there: Profile) -> None:
    between = [there.predict("bad", p, 1e5, 1e5, 1e6)[0] for p in (8, 10, 12)]
    assert between[1] == pytest.approx((between[0] + between[2]) / 2)
    assert there.basis(10) == "p = 10 was not measured: predicted from p = 8 and 12"
    assert there.basis(8) == ""


def test_the_validation_consists_of_tables_5_to_8(there: Profile) -> None:
    rows = there.access["validation"]
    assert [{k: v for k, v in row.items() if k != "count"} for row in rows] == [
        row for p in PROCESSORS for row in paper_errors(p)
    ]
    # 19 sizes of R0, three patterns each: suite 2 has x from 1 to 7
    (row,) = [r for r in rows if (r["p"], r["name"], r["set"], r["suite"]) == (8, "HrHwM-c", "R0", 2)]
    assert row["count"] == 19 * 3 * 7
    r0, r1 = 19 * 0.049, 10 * 0.026
    assert errors_apart(there, "good", 8)[2] == pytest.approx((r0 + r1) / 29)
    assert reasons(there) == []
    judge(there)
    assert there.access["valid"]


@pytest.mark.parametrize("p", PROCESSORS)
def test_good_of_all_supersteps_is_fitted_to_the_two_sets(there: Profile, p: int) -> None:
    rng = np.random.default_rng(0)
    suites = {}
    for number in (1, 2):
        hr, hw, m = np.array([(a.hr, a.hw, a.m) for a in suite(number, p, sizes("full"), rng)], float).T
        suites[number] = Measured(hr, hw, m, there.predict("good", p, hr, hw, m))
    (refitted,) = [
        row for row in fit_family("good", p, suites, TIERS)[0] if (row["name"], row["set"]) == ("HrHwM-c", "all")
    ]
    kept = there.function("good", p)
    assert kept["terms"] == refitted["terms"]
    assert np.array(ALL[p]) * 1e-6 == pytest.approx(refitted["coefficients"], rel=1e-3)
    of = suites[2]
    off = np.abs(predict(kept, of.hr, of.hw, of.m, TIERS) / of.seconds - 1).mean()
    assert off < 0.05  # with the errors of R0 and R1, at most 6.5% on suite 2, "always below 10%"


def test_a_run_is_placed_in_the_interval_of_the_published_machine(there: Profile, machines: Machines) -> None:
    n = 20_000
    two = machines(2)
    run = two.run(exchange, two.array(np.arange(n, dtype=np.uint32)), two.empty(n, np.uint32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interval = run.interval(there)
    assert interval.good * 1e6 == pytest.approx([-30 + (0.0184 + 0.0086) * n / 2 + 0.00009 * 2 * n])
    assert interval.bad * 1e6 == pytest.approx([10444 + (0.5062 + 1.0377) * n / 2 + 0.0484 * 2 * n])
    assert np.isnan(interval.random).all()
    assert interval.loc == pytest.approx(1 - (interval.measured - interval.good) / (interval.bad - interval.good))
    assert any(POWER_CHALLENGE in note and "machine that ran the program" in note for note in interval.notes)
    assert "random" not in str(interval)
    model = charged(there, run.summary(), 2)
    assert model.total() == pytest.approx(float((interval.good + interval.compute).sum()))
    assert charged(there, run.summary(), 2, "bad").total() > model.total()


def test_the_cost_of_a_program_on_the_published_machine_is_predicted(there: Profile) -> None:
    expected = cross(there, "radix", 1_000_000, 8)
    assert model_of(there, "radix", 1_000_000, 8).total() == pytest.approx(expected.good)
    assert expected.good < expected.bad
    with pytest.raises(ProfileError, match="random"):
        charged(there, np.zeros(1, [(name, "i8") for name in ("hr", "hw", "m")]), 8, "random")


def test_a_saved_published_machine_can_be_loaded(there: Profile, tmp_path: Path) -> None:
    there.save(tmp_path / "there.json")
    with pytest.warns(ProfileWarning, match="measured on another machine"):
        again = Profile.load(tmp_path / "there.json")
    assert again.data == there.data
    assert again.predict("good", 4, 1e5, 1e5, 1e6) == there.predict("good", 4, 1e5, 1e5, 1e6)
    assert cross(tmp_path / "there.json", "radix", 1_000_000, 8) == cross(there, "radix", 1_000_000, 8)


def test_two_profiles_of_one_name_share_no_data() -> None:
    one, two = (published_machine(POWER_CHALLENGE) for _ in range(2))
    one.data["access"]["functions"].clear()
    one.data["machine"]["cpu"] = "another"
    assert len(two.access["functions"]) == 25
    assert two.data["machine"]["cpu"] == "MIPS R10000"


def test_an_unknown_machine_is_refused() -> None:
    assert PUBLISHED == (POWER_CHALLENGE,)
    with pytest.raises(
        ProfileError, match=r"no cost functions of 'Cray-1' were published; choose one of: SGI Power Challenge"
    ):
        published_machine("Cray-1")
    with pytest.raises(ProfileError, match="there is no profile at Cray-1"):
        opened("Cray-1")


def test_the_command_accepts_the_name_of_a_published_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--impact", "radix,1e6,8", "--profile", POWER_CHALLENGE, "--json"]) == 0
    printed = capsys.readouterr()
    found = {row["term"]: row["price"] for row in json.loads(printed.out)["prices"]}
    assert found["ghr1"] == pytest.approx(0.0184e-6)
    assert printed.err == ""
    assert main(["--profile", POWER_CHALLENGE, "--no-plots"]) == 0
    printed = capsys.readouterr()
    assert "after table 4" in printed.out
    assert printed.err == ""


def test_no_measurement_is_added_to_a_published_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--profile", POWER_CHALLENGE, "--only", "lists", "--out", str(tmp_path)]) == 1
    assert "leave out --only" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
