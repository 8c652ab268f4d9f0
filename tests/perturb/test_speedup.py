"""The design "speedup": gains from trials with all places delayed, and all but one."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind
from support.machines import Emulated
from support.virtual_work import burn

from smp.perturb import Trials, factor, screen
from smp.perturb.analysis.speedups import gains_of_speedup
from smp.perturb.command import main
from smp.perturb.designs.slow_motion import all_but_one, is_all_but_one

US = 1000


def forked(proc: Any, branches: dict[str, int], after: int, rounds: int) -> None:
    """Each processor passes its own branch; then all pass S."""
    for _ in range(rounds):
        name = list(branches)[proc.rank]
        with factor(name):
            burn(branches[name])
        proc.barrier()
        with factor("S"):
            burn(after)
        proc.barrier()


def found(trials: Trials) -> dict[str, float]:
    return {row.factor: 1e6 * row.gain for row in trials.gains()}


@pytest.mark.parametrize("design", ["speedup", "2^4"])
def test_of_balanced_branches_only_the_longest_gains(design: str, emulated: Emulated) -> None:
    """A third less of A brings 1 us a round, because B is then the longest; nothing of B or C brings anything."""
    works = {"A": 30 * US, "B": 29 * US, "C": 28 * US}
    trials = screen(forked, design, treatment="50%", machine=emulated(3), arguments=(works, 5 * US, 10), replicates=2)
    assert found(trials) == pytest.approx({"S": 50.0, "A": 30.0, "B": 0.0, "C": 0.0}, abs=0.5)
    assert [row.factor for row in trials.gains()[:2]] == ["S", "A"]
    assert [row.significant for row in trials.gains()] == [True, True, False, False]


def test_a_full_design_gives_both_ends_of_places_with_interactions(emulated: Emulated) -> None:
    works = {"A": 30 * US, "B": 29 * US, "C": 28 * US}
    trials = screen(forked, "2^4", treatment="50%", machine=emulated(3), arguments=(works, 5 * US, 1), replicates=2)
    rows = {row.factor: row for row in trials.gains()}
    assert rows["S"].ends is None
    assert rows["C"].ends is not None
    assert np.array(rows["C"].ends) * 1e6 == pytest.approx([24.0, 0.0], abs=0.5)  # 42 us against 30, per 14 us delay
    assert "others fast, slow: the gain by the effects" in str(trials.gains())


def test_a_fractional_design_gives_the_main_effect_between_both_ends(emulated: Emulated) -> None:
    works = {"A": 30 * US, "B": 29 * US, "C": 28 * US}
    trials = screen(forked, None, treatment="50%", machine=emulated(3), arguments=(works, 5 * US, 1), replicates=2)
    assert trials.design.name == "2^(4-1)"
    for row in trials.gains():
        if row.ends is not None:
            assert min(row.ends) <= row.gain <= max(row.ends)
    assert any(row.ends for row in trials.gains())


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(10, 100), min_size=1, max_size=4), share=st.sampled_from([10, 50, 200]))
def test_a_serial_program_gains_all_of_a_place(lengths: list[int], share: int, emulated: Emulated) -> None:
    works = {name: length * US for name, length in zip("abcd", lengths, strict=False)}

    def serial(proc: Any) -> None:
        for name, ns in works.items():
            with factor(name):
                burn(ns)

    trials = screen(serial, "speedup", treatment=f"{share}%", machine=emulated(1), replicates=2)
    assert found(trials) == pytest.approx({name: ns / US for name, ns in works.items()}, rel=0.01)


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10))
def test_gains_are_differences_with_the_pooled_scatter(p: int, replicates: int, seed: int) -> None:
    responses = np.random.default_rng(seed).normal(1.0, 0.1, (replicates, p + 1))
    assume(np.ptp(np.log(responses.var(axis=0, ddof=1))) < math.log(30))
    names = [f"f{k}" for k in range(p)]
    rows = {
        row.factor: row
        for row in gains_of_speedup(names, responses, dict.fromkeys(names, 0.5), dict.fromkeys(names, 2.0))
    }
    variance = np.mean([np.var(responses[:, k], ddof=1) for k in range(p + 1)])
    for k, name in enumerate(names):
        difference = responses[:, 0].mean() - responses[:, k + 1].mean()
        assert rows[name].gain == pytest.approx(difference / 0.5 * 2.0)
        assert rows[name].uncertainty == pytest.approx(math.sqrt(2 * variance / replicates) / 0.5)


@pytest.mark.parametrize("replicates", [6, 20])
def test_if_trials_scatter_differently_a_gain_has_the_scatter_of_its_own_two(replicates: int) -> None:
    rng, names = np.random.default_rng(3), ["noisy", "quiet"]
    responses = 1.0 + rng.normal(size=(replicates, 3)) * [0.01, 1.0, 0.01]
    responses[:, 2] -= 0.05
    rows = {
        row.factor: row
        for row in gains_of_speedup(names, responses, dict.fromkeys(names, 1.0), dict.fromkeys(names, 1.0))
    }
    for k, name in enumerate(names, 1):
        welch = ttest_ind(responses[:, 0], responses[:, k], equal_var=False)
        assert rows[name].gain / rows[name].uncertainty == pytest.approx(welch.statistic)
    assert rows["quiet"].significant
    assert not rows["noisy"].significant
    same = gains_of_speedup(names, responses * 0 + [1.0, 1.0, 0.5], *[dict.fromkeys(names, 1.0)] * 2)
    assert [(row.factor, row.gain, row.uncertainty, row.significant) for row in same] == [
        ("quiet", 0.5, 0.0, True),
        ("noisy", 0.0, 0.0, False),
    ]


def test_the_levels_are_recognised_and_no_others() -> None:
    for p in range(1, 6):
        levels = all_but_one(p)
        assert is_all_but_one(levels)
        assert not is_all_but_one(levels[::-1])
        assert not is_all_but_one(levels[:-1])


def test_trials_are_saved_and_read(emulated: Emulated, tmp_path: Path) -> None:
    def program(proc: Any) -> None:
        with factor("a"):
            burn(US)

    trials = screen(program, "speedup", machine=emulated(1), replicates=2)
    trials.save(tmp_path / "trials.json")
    again = Trials.load(tmp_path / "trials.json")
    assert again.plan.speedup
    assert again.gains() == trials.gains()
    assert str(again) == str(trials)
    assert "speedup: 2 trials, with all 1 places delayed, and all but one" in str(again)
    with pytest.raises(ValueError, match="no effects"):
        trials.analyse()


def test_one_replicate_is_refused_before_the_trials() -> None:
    def program() -> None:
        with factor("a"):
            pass

    with pytest.raises(ValueError, match="at least 2 replicates"):
        screen(program, "speedup", replicates=1)


def test_the_command_knows_the_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import time\nfrom smp.perturb import factor\n"
        "with factor('slow'):\n    time.sleep(0.02)\nwith factor('quick'):\n    time.sleep(0.005)\n"
    )
    out = tmp_path / "out"
    assert main([str(script), "--design", "speedup", "--delay", "50%", "--replicates", "2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "speedup: 3 trials" in said
    assert "Gain if a place took no time" in said
    assert json.loads((out / "trials.json").read_text())["plan"]["design"] is None
