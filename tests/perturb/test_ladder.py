"""Ladders of delays: which rungs agree, exact effects, lines that miss zero; and experiments that climb a ladder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.sampled import each, examples
from support.tables import below

import smp
from smp.compiled import local
from smp.perturb import Work, factor, screen
from smp.perturb.analysis import figures
from smp.perturb.analysis.ladders import Ladder, ladder
from smp.perturb.designs.by_name import fractional
from smp.perturb.experiments.climbing import Climb, climb

DELAYS = np.array([1, 2, 5, 10, 20.0])


@pytest.fixture(scope="module")
def emulated() -> Iterator[smp.Machine]:
    """An emulated machine with two processors that runs in virtual time, so without noise."""
    with smp.emulated(2, schedule="clock") as machine:
        yield machine


@local
def burn(octets: Any) -> None:
    octets[:1] = 0  # 0.1 ns of virtual time for each


def program(proc: smp.Processor, ns: int = 0) -> dict[str, float]:
    """Both processors pass `all` three times; processor 1 has 30 us of slack, in which it passes `late` twice."""
    for _ in range(3):
        with factor("all"):
            proc.barrier()
    burn(np.empty(300_000 + 10 * ns if proc.rank == 0 else 1, np.uint8))
    if proc.rank == 1:
        for _ in range(2):
            with factor("late"):
                pass
    proc.barrier()
    return {"ns": float(ns)}


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.floats(1e-6, 1e3), min_size=3, max_size=8, unique=True),
    st.sampled_from([-3.0, 1e-9, 7.0]),
    st.integers(0, 99),
)
def test_exact_rungs_in_proportion_are_linear(delays: list[float], slope: float, seed: int) -> None:
    off = np.random.default_rng(seed).uniform(-0.001, 0.001, len(delays))
    found = ladder(delays, slope * np.array(delays) * (1 + off), 0.0)
    assert found.verdict == "linear"
    assert found.slope == pytest.approx(slope, rel=0.002)
    assert found.offset == 0
    assert found.faster == (slope < 0)


def test_exact_rungs_out_of_proportion_are_not_linear() -> None:
    found = ladder(DELAYS, DELAYS * [1, 1, 1, 1, 1.05], 0)
    assert (found.verdict, found.trusted) == ("small delays", slice(0, 4))
    found = ladder(DELAYS, [1, 2, 5, 7, 7], 0)
    assert (found.verdict, found.slope, found.trusted) == ("small delays", pytest.approx(1), slice(0, 3))
    assert ladder(DELAYS, [1, -2, 5, -10, 3], 0).verdict == "neither"
    nothing = ladder(DELAYS, np.zeros(5), 0)
    assert (nothing.verdict, nothing.faster) == ("noise", False)


def test_delays_have_no_effect_until_the_slack_is_used_up() -> None:
    """With a slack of 5 and exact effects, the three rungs within the slack show that they have none."""
    found = ladder([1, 2, 5, 10, 20], [0, 0, 0, 20, 70], 0)
    assert (found.verdict, found.slope, found.trusted) == ("small delays", 0, slice(0, 3))
    found = ladder([1, 2, 5, 10, 20, 50], np.maximum(0, 4 * (np.array([1, 2, 5, 10, 20, 50]) - 3.0)), 0.01)
    assert (found.verdict, found.trusted) == ("large delays", slice(2, 6))
    assert (found.slope, found.offset) == (pytest.approx(4, abs=0.01), pytest.approx(-12, abs=0.05))


def test_a_delay_of_any_length_may_gain_a_fixed_time() -> None:
    """Figure 3-b of a program whose nodes get out of each other's way: a gain of 4, then a cost of 2 for each unit."""
    rng = np.random.default_rng(0)
    found = ladder(DELAYS, np.array([-3.0, *(2 * DELAYS[1:] - 4)]) + rng.normal(0, 0.1, 5), 0.1)
    assert (found.verdict, found.trusted.start, found.faster) == ("large delays", 1, True)
    assert found.slope == pytest.approx(2, abs=4 * found.slope_uncertainty)
    assert found.offset == pytest.approx(-4, abs=0.5)
    assert "plus -4" in str(found) or "plus -3.9" in str(found)


def test_a_program_that_saturates_has_no_trusted_large_end() -> None:
    """A flat line that misses zero is not the price of a delay: other processors do the work meanwhile."""
    delays = 2.0 ** np.arange(8)
    found = ladder(delays, np.minimum(3 * delays, 25), 0.2)
    assert (found.verdict, found.delays[found.trusted][-1]) == ("small delays", 8)


@pytest.mark.parametrize("freedom", each(3, [2, 6, 30]))
def test_p_values_allow_for_few_degrees_of_freedom(freedom: int) -> None:
    """With the normal distribution instead, 27, 7 and 2 in a hundred linear ladders would be doubted."""
    rng = np.random.default_rng(freedom)
    effects = rng.normal(0, 1, (1500, 5))
    noise = np.sqrt(rng.chisquare(freedom, effects.shape) / freedom)
    doubted = [ladder(DELAYS, e, s, freedom=freedom).p_value < 0.01 for e, s in zip(effects, noise, strict=True)]
    assert np.mean(doubted) < 0.03


@pytest.mark.parametrize("effects", [[1, 2, 5, 10, 20], [-3, -1, 15.1, 29.9, 60], [1, -2, 5, -10, 3], [0, 0, 0, 0, 0]])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_ladders_survive_json(effects: list[float], noise: float) -> None:
    found = ladder(DELAYS, effects, noise)
    again = Ladder.from_json(json.loads(json.dumps(found.to_json())))
    assert str(again) == str(found)
    assert again.to_json() == found.to_json()
    assert again.trusted == found.trusted
    assert np.array_equal(again.clear, found.clear)


def test_negative_uncertainties_are_refused() -> None:
    with pytest.raises(ValueError, match="uncertainties zero or more"):
        ladder([1, 2, 3], [1, 2, 3], -0.1)


# Experiments.


@pytest.fixture(scope="module")
def climbed(emulated: smp.Machine) -> Climb:
    return climb(program, ("1us", "5us", "10us", "30us", "50us"), machine=emulated, replicates=2)


def test_the_ladders_show_the_known_effects_of_the_program(climbed: Climb) -> None:
    """The effects are exact: `late` costs 2 d, of which the slack of 30 us absorbs a part: 2 d - 30 from 15 us on."""
    assert climbed.delays == pytest.approx([1e-6, 5e-6, 10e-6, 30e-6, 50e-6])
    found = climbed.ladders()
    assert found["all"].verdict == "linear"
    assert found["all"].effects == pytest.approx(3 * np.array(climbed.delays))
    late = found["late"]
    assert late.verdict == "small delays"
    assert late.effects[:3] == pytest.approx(0, abs=1e-12)
    assert np.diff(late.effects[3:]) == pytest.approx(2 * 20e-6, abs=1e-9)
    assert (late.slope, late.delays[late.trusted][-1]) == (pytest.approx(0, abs=1e-9), 10e-6)
    assert not late.faster
    every, late_line = below(climbed.table())
    assert every.split()[:5] == ["all", "3", "3", "1.000", "0"]
    assert every.endswith("screen with any of these")
    assert late_line.split()[0] == "late"
    assert late_line.endswith("no effect up to 10.0 us")


def test_each_rung_is_the_experiment_that_screen_runs(climbed: Climb, emulated: smp.Machine) -> None:
    alone = screen(program, "2^2", treatment="30us", machine=emulated, replicates=2)
    rung = climbed.rungs[3]
    assert rung.plan.to_json() == alone.plan.to_json()
    assert rung.analyse().effects == pytest.approx(alone.analyse().effects)
    assert rung.delayed() == alone.delayed()
    assert [len(one.table) for one in climbed.rungs] == [8] * 5


def test_all_rungs_are_run_in_one_random_order(climbed: Climb) -> None:
    """Each replicate mixes the trials of all rungs, so that drift does not look like an effect of the later rungs."""
    trials = climbed.trials
    for replicate in range(2):
        order = trials.table["trial"][trials.table["replicate"] == replicate]
        assert sorted(order.tolist()) == list(range(20))
        assert np.count_nonzero(np.diff(order // 4)) > 8  # it would be 4 if the rungs were run one after another
    orders = trials.table["trial"].reshape(2, 20)
    assert not np.array_equal(*orders)


def test_a_climb_survives_json_and_files(climbed: Climb, tmp_path: Path) -> None:
    file = tmp_path / "ladder.json"
    climbed.save(file)
    again = Climb.load(file)
    assert again.to_json() == climbed.to_json()
    assert again.table() == climbed.table()
    assert str(again) == str(climbed)
    data = json.loads(file.read_text())
    assert Ladder.from_json(data["ladders"]["all"]).verdict == "linear"
    file.write_text(json.dumps({**data, "format": "smp-trials"}))
    with pytest.raises(ValueError, match="holds no ladder: its format is not smp-ladder, version 1"):
        Climb.load(file)


def test_an_interrupted_climb_resumes_from_its_measurements(emulated: smp.Machine, tmp_path: Path) -> None:
    kept, left = tmp_path / "kept.json", [9]

    def arguments() -> tuple[int]:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return (left[0],)

    options: dict[str, Any] = {"design": "2^2", "factors": "all,late", "machine": emulated, "replicates": 2}
    with pytest.raises(KeyboardInterrupt):
        climb(program, ("1us", "5us", "50us"), arguments=arguments, resume=kept, **options)
    assert len(json.loads(kept.read_text())["rows"]) == 7  # in addition to the warm-up and the counted run
    left[0] = 1000
    found = climb(program, ("1us", "5us", "50us"), arguments=arguments, resume=kept, **options)
    assert found.trials.table["ns"][:7].tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert len(found.trials.table) == 24
    assert not kept.exists()


def test_a_climb_takes_any_two_level_design_and_units_of_work(emulated: smp.Machine) -> None:
    steps: list[float] = []
    found = climb(
        program,
        (Work(1000), "work:2000", "work:4000"),
        fractional("2^2", "late, all"),
        machine=emulated,
        replicates=2,
        runs=2,
        progress=lambda done, _: steps.append(done),
    )
    assert found.delays == pytest.approx([4e-6, 8e-6, 16e-6])
    assert found.ladders()["all"].slope == pytest.approx(3)
    assert steps == sorted(steps)
    assert steps[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"delays": "10us"}, TypeError, "must be a sequence of treatments"),
        ({"delays": ("1us", "2us")}, ValueError, "a ladder needs at least 3 different delays, not 2"),
        ({"delays": ("1us", "1000ns", "2us")}, ValueError, "at least 3 different delays, not 2"),
        ({"delays": ("0ns", "1us", "2us")}, ValueError, "0ns cannot be a rung"),
        ({"delays": ("lock", "1us", "2us")}, ValueError, "lock cannot be a rung"),
        ({"delays": (1e-6, 2e-6, 3e-6)}, TypeError, "must be a Busy, Work"),
        ({"replicates": 1}, ValueError, "at least 2 replicates, not 1"),
        ({"design": "OA9(3^2)"}, ValueError, "a design of two levels, such as 2\\^3, not an array"),
        ({"design": "2^3"}, ValueError, "a design of 3 factors cannot take 2"),
        ({"design": "2^3", "factors": "all,late,lost"}, ValueError, "never passes lost"),
        ({"program": lambda proc: None}, ValueError, "passes no factor"),
    ],
)
def test_invalid_ladders_are_refused(
    emulated: smp.Machine, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        climb(**{"program": program, "machine": emulated, **options})


# Pictures.


def test_the_line_that_misses_zero_is_drawn() -> None:
    found = ladder(DELAYS * 1e-6, (2 * DELAYS - 4) * 1e-6, 1e-8)
    assert found.offset == pytest.approx(-4e-6)
    figure = figures.ladders({"a": found, "b": ladder(DELAYS * 1e-6, DELAYS * 1e-6, 0)})
    drawn = pictures.check(figure)
    (line,) = [one for one in figure.panels[0].series if one.dash == "dotted"]
    assert np.allclose(line.y, found.slope + found.offset / np.array(line.x))
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1 µs", "2 µs", "5 µs", "10 µs", "20 µs"]


def test_a_response_is_drawn_against_a_parameter() -> None:
    runs = np.array([[1.0, 3.0, 2.0], [2.0, 3.0, 4.0]])
    figure = figures.response([1, 2, 4], {"smooth": [1.0, 2.0, 4.0], "erratic": runs}, "grain")
    pictures.check(figure)
    smooth, erratic = figure.panels
    assert smooth.series[0].y == [1, 2, 4]
    line, dots = erratic.series
    assert np.allclose(line.y, runs.mean(axis=0))
    assert sorted(zip(dots.x, dots.y, strict=True)) == [(1, 1), (1, 2), (2, 3), (2, 3), (4, 2), (4, 4)]
    assert [panel.title for panel in figure.panels] == ["smooth", "erratic"]
