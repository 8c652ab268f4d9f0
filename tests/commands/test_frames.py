"""Results as data frames of pandas: the same numbers as their attributes, in rows."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import smp
from smp._output.frames import frame
from smp.perturb.analysis.effects import analyse
from smp.perturb.designs.by_name import design
from smp.profiles import published_machine

PROFILE = Path(__file__).parents[1] / "data" / "profile" / "quick.json"


def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
    for label in ("a", "b"):
        with proc.superstep(label) as step:
            part = step.copy_in(array, proc.block(len(array)))
            step.compute()
            step.copy_out(array, proc.block(len(array)), part)


@pytest.fixture(scope="module")
def run() -> smp.Run:
    with smp.host(2) as machine:
        return machine.run(program, machine.zeros(50_000))


def test_a_run_has_a_row_for_each_superstep(run: smp.Run) -> None:
    found = run.to_frame()
    assert found["label"].tolist() == ["a", "b"]
    for name in run.summary().dtype.names or ():
        np.testing.assert_array_equal(found[name].to_numpy(), run.summary()[name])


def test_an_interval_has_its_columns(run: smp.Run) -> None:
    interval = run.interval(published_machine("SGI Power Challenge"))
    found = interval.to_frame()
    for name in ("hr", "measured", "good", "loc", "m_over_g", "verdict"):
        np.testing.assert_array_equal(found[name].to_numpy(), getattr(interval, name))


def profile() -> smp.Profile:
    with warnings.catch_warnings(action="ignore"):
        return smp.Profile.load(PROFILE)


def test_a_profile_has_a_row_for_each_figure() -> None:
    found = profile().to_frame()
    assert {"latency", "synchronisation", "bandwidth"} <= set(found["section"])
    alone = found[(found["section"] == "synchronisation") & found["what"].str.startswith("fetch-add alone")]
    assert alone["value"].to_numpy()[0] > 0
    assert not alone["more_is_better"].any()


def test_a_comparison_has_its_rows() -> None:
    comparison = smp.compare(profile(), profile())
    found = comparison.to_frame()
    assert len(found) == len(comparison.rows) > 10
    assert (found["gain"] == 1).all()
    assert (found["told"] == "").all()


def test_effects_have_their_probabilities() -> None:
    responses = np.array([[1.0, 2.0, 3.0, 5.0], [1.1, 2.0, 3.1, 5.0]])
    effects = analyse(design("2^2"), responses)
    found = effects.to_frame()
    assert found["source"].tolist() == list(effects.sources)
    np.testing.assert_array_equal(found["effect"].to_numpy(), effects.effects)
    np.testing.assert_array_equal(found["p_value"].to_numpy(), effects.p_values)


def test_without_pandas_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"to_frame\(\) needs pandas: pip install pandas"):
        frame({"a": [1]})
