"""``--calibrate`` measures libraries one after another, resumes after Ctrl-C, and keeps, prints and draws models."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.libraries import CALLS, made_up
from support.markup import Markup, file_in
from support.reports import printed

import smp
from smp.errors import ModelError
from smp.microbench import command
from smp.microbench.calibration import kernels as calibration
from smp.microbench.calibration import plots, tables
from smp.microbench.calibration.page import page_of
from smp.models.fit.fitting import ModelWarning
from smp.selection import kept, timings
from smp.selection.fresh import Verdict
from smp.selection.implementation import Implementation
from smp.selection.library import Library


@pytest.fixture(autouse=True)
def made_up_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    CALLS.clear()
    rng = np.random.default_rng(3)
    monkeypatch.setattr(timings, "timed", lambda call: call() * (1 + 0.01 * rng.standard_normal()))
    monkeypatch.setattr(calibration, "libraries", lambda kernels: [made_up(f"toy {kernel}") for kernel in kernels])
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))


def quiet(done: float, text: str) -> None:
    assert 0 <= done <= 1
    assert text


def under_way(folder: Path) -> list[Path]:
    """Return the files with the timings of unfinished libraries."""
    return list(folder.glob("*under-way*"))


def test_models_are_saved_kept_and_found_again(tmp_path: Path) -> None:
    made = calibration.Calibration(["sort", "lists"], tmp_path, seed=1)
    made.measure(quiet)
    files = made.save()
    assert [file.name for file in files] == ["calibration.json", "models.py", "models.c"]
    assert not under_way(tmp_path)

    fresh = kept.recalled(made_up("toy sort"))
    assert [fresh.choose(n, 8) for n in (100, 10_000, 15_000, 10**6)] == ["first", "first", "second", "second"]
    assert all(model.samples is None for model in fresh.models.values())
    assert not kept.recalled(made_up("another")).models

    loaded = calibration.load(tmp_path)
    assert loaded["interrupted"] is False
    found = {model.name: model for model in calibration.models(loaded)}
    assert set(found) == {f"toy {a}/{b}" for a in ("sort", "lists") for b in ("first", "second")}
    for name, intercept, slope in (("first", 1e-6, 1e-9), ("second", 1e-5, 2.5e-10)):
        model = found[f"toy lists/{name}"]
        assert model.predict(10_000, 8) == pytest.approx(intercept + slope * 10_000, rel=0.03)
        assert model.samples is not None
        assert model.samples.verification.sum() == 20
        assert len(model.samples.raw) == 16 + 20
        assert model.quality.mre < 0.03

    space: dict[str, object] = {}
    exec((tmp_path / "models.py").read_text(), space)
    assert space["toy_lists_first"](1000, 8) == found["toy lists/first"].predict(1000, 8)  # type: ignore[operator]


def test_ctrl_c_saves_the_calibration_and_the_same_command_continues(tmp_path: Path) -> None:
    def interrupts(done: float, text: str) -> None:
        if done > 0.7:
            raise KeyboardInterrupt

    first = calibration.Calibration(["sort", "lists"], tmp_path, seed=1)
    with pytest.raises(KeyboardInterrupt):
        first.measure(interrupts)
    first.save()
    assert len(under_way(tmp_path)) == 1
    assert "interrupted" in tables.summary(calibration.load(tmp_path))
    before = list(CALLS)
    assert {name for name, _ in before} > {"toy sort/first"}

    second = calibration.Calibration(["sort", "lists"], tmp_path, seed=1)
    second.measure(quiet)
    second.save()
    after = CALLS[len(before) :]
    assert all(name.startswith("toy lists") for name, _ in after), "the first library is not measured again"
    alone = sum(name == "toy lists/first" for name, _ in CALLS)
    assert alone == 3 * 36, "the two commands measure each point three times in all"
    assert not calibration.load(tmp_path)["interrupted"]


def test_another_seed_starts_from_scratch(tmp_path: Path) -> None:
    first = calibration.Calibration(["sort"], tmp_path, seed=1)
    first.save()  # no library is measured yet
    assert calibration.Calibration(["sort"], tmp_path, seed=1).data["libraries"] == {}
    first.measure(quiet)
    first.data["interrupted"] = True
    first.save()
    assert calibration.Calibration(["sort"], tmp_path, seed=1).data["libraries"]
    assert calibration.Calibration(["sort"], tmp_path, seed=2).data["libraries"] == {}


def test_models_of_other_kernels_are_kept(tmp_path: Path) -> None:
    for kernel in ("sort", "lists"):
        made = calibration.Calibration([kernel], tmp_path / kernel, seed=1)
        made.measure(quiet)
        made.save()
    assert all(kept.recalled(made_up(f"toy {kernel}")).models for kernel in ("sort", "lists"))


def test_models_that_do_not_fit_the_library_are_reported_and_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "code_of", lambda library: "not edited")
    made = calibration.Calibration(["sort"], tmp_path, seed=1)
    made.measure(quiet)
    made.save()
    changed = made_up("toy sort")
    changed.add(Implementation("third", lambda n, width: 0.0, ["n"]))
    with pytest.warns(kept.CalibrationWarning, match="no model of toy sort/third"):
        kept.recalled(changed)
    assert changed.choose(10**6, 8) == "first", "the rule without models is the first implementation that applies"

    kept.kept_at().write_text("{")
    kept._kept.cache_clear()
    with pytest.warns(kept.CalibrationWarning, match="damaged or not a calibration"):
        kept.recalled(made_up("toy sort"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "smp-calibration", "version": 9, "libraries": {}}'])
def test_a_file_that_is_not_a_calibration_is_an_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    file.write_text(text)
    with pytest.raises(ModelError, match=re.escape(str(file))):
        calibration.load(file)
    with pytest.raises(ModelError, match="there is no calibration"):
        calibration.load(tmp_path / "other.json")


def test_the_command_calibrates_and_prints_saved_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--calibrate", "sort", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "2 models of 1 libraries" in told.out
    file = tmp_path / "calibration.json"
    assert command.main(["--models", str(file), "--no-plots", "--csv"]) == 0
    assert "implementation,points fitted,error [%]," in capsys.readouterr().out
    assert command.main(["--models", str(file), "--no-plots", "--markdown"]) == 0
    assert "| implementation | points fitted | error (%) |" in capsys.readouterr().out
    assert "calibration.json, models.py, models.c, choice-toy-sort.png" in " ".join(told.err.split())
    assert "residuals-toy-sort-first.png" in told.err
    assert "calibration.html" in told.err
    calls = len(CALLS)
    assert command.main(["--models", str(tmp_path), "--no-plots"]) == 0
    assert capsys.readouterr().out == told.out
    assert command.main(["--models", str(tmp_path), "--no-plots", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["libraries"].keys() == {"toy sort"}
    assert len(CALLS) == calls, "printing measures nothing"
    assert command.main(["--models", str(tmp_path / "none.json")]) == 1


def test_the_page_has_the_models_and_their_figures(tmp_path: Path) -> None:
    made = calibration.Calibration(["sort", "lists"], tmp_path, seed=1)
    made.measure(quiet)
    page = page_of(made.data)
    found = Markup(page)
    assert found.values("figure", "id") == [f"figure-{figure.id}" for figure in plots.figures(made.data)]
    assert found.values("section", "id") == ["summary", "library-0", "library-1", "data"]
    assert all(html.escape(model.formula()) in page for model in calibration.models(made.data))
    assert calibration.load(made.save()[0]) == json.loads(file_in(page))
    assert page == page_of(calibration.load(tmp_path))


def test_the_report_gives_the_errors_and_the_formulas(tmp_path: Path) -> None:
    made = calibration.Calibration(["sort"], tmp_path, seed=1)
    made.measure(quiet)
    told = printed(*tables.report(made.data))
    model = next(calibration.models(made.data))
    assert f"{100 * model.quality.mre:.1f}" in told
    assert model.formula() in " ".join(told.split())
    assert "irrelevant: n * width" in told


def test_the_report_says_where_the_fastest_implementation_changes(tmp_path: Path) -> None:
    made = calibration.Calibration(["sort"], tmp_path, seed=1)
    made.measure(quiet)
    table = next(table for table in tables.report(made.data)[1].tables if "changes with n" in table.title)
    assert [column.name for column in table.columns][:4] == ["width", "from n", "before", "fastest"]
    for width, row in zip((8, 32), table.rows, strict=True):
        found, size, before, after, seconds, low, high = row
        assert (found, before, after) == (width, "first", "second")
        assert isinstance(size, float | int)
        assert size == pytest.approx(12_000, rel=0.1), "1 us + n ns are 10 us + n / 4 ns"
        assert seconds == pytest.approx(13e-6, rel=0.1)
        assert isinstance(low, float | int)
        assert isinstance(high, float | int)
        assert low <= size <= high


def test_there_is_a_plot_of_the_choice_and_one_of_the_residuals_of_each_model(tmp_path: Path) -> None:
    made = calibration.Calibration(["sort"], tmp_path, seed=1)
    made.measure(quiet)
    described = {figure.id: figure for figure in plots.figures(made.data)}
    residuals = ["residuals-toy-sort-first", "residuals-toy-sort-second"]
    assert list(described) == ["choice-toy-sort", "errors-toy-sort", "timings-toy-sort", *residuals]
    found = {model.name: model for model in calibration.models(made.data)}
    x = np.array([1000.0, 10**6])
    model = found["toy sort/first"]
    np.testing.assert_array_equal(plots.fastest(model, {"n": x}), model.of({"n": x, "width": np.full(2, 8.0)}))


def test_an_unknown_kernel_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "smp.microbench", "--calibrate", "nothing"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "choose from sort, lists, stencil" in done.stderr


def test_a_library_of_the_user_is_calibrated_in_place() -> None:
    library = made_up("mine")
    assert smp.calibrate(library) is library
    assert library.best(10**6, 8).name == "second"
    assert library.best(10**6, 8).seconds == pytest.approx(1e-5 + 2.5e-4, rel=0.03)


# ------------------------------------------------------------------------------------------- new and earlier models


def calibrated(folder: Path, monkeypatch: pytest.MonkeyPatch, noise: float, seed: int) -> calibration.Calibration:
    """Calibrate while the computer is as quiet as `noise` says; the fresh points are measured on a quiet computer."""
    rng, compare = np.random.default_rng(seed), calibration.compare

    def quietly(*given: object, **options: object) -> object:
        monkeypatch.setattr(timings, "timed", lambda call: call() * (1 + 0.01 * rng.standard_normal()))
        return compare(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(timings, "timed", lambda call: call() * (1 + noise * rng.random()))
    monkeypatch.setattr(calibration, "compare", quietly)
    made = calibration.Calibration(["sort"], folder, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        made.measure(quiet)
    made.save()
    monkeypatch.setattr(calibration, "compare", compare)
    return made


def test_a_worse_calibration_does_not_replace_the_kept_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrated(tmp_path / "a", monkeypatch, 0.01, seed=1)
    before = kept.recalled(made_up("toy sort")).to_json()
    assert not kept.set_aside_at().exists()
    busy = calibrated(tmp_path / "b", monkeypatch, 8.0, seed=2)
    assert kept.recalled(made_up("toy sort")).to_json() == before
    verdict = busy.data["verdicts"]["toy sort"]
    assert verdict["kept"] == "earlier"
    assert verdict["earlier"] < 0.05 < verdict["new"]
    assert f"toy sort: the earlier models are kept, because their error on {verdict['count']} fresh" in verdict["said"]
    assert verdict["said"].endswith(f"the new ones are set aside in {kept.set_aside_at()}")
    assert command.main(["--models", str(tmp_path / "b"), "--no-plots"]) == 0
    told = capsys.readouterr().out
    assert "the earlier models are kept, because" in " ".join(told.split())
    assert command.main(["--models", str(kept.set_aside_at()), "--no-plots"]) == 0, "the new ones can be read as well"
    assert "toy sort" in capsys.readouterr().out
    aside = [model.coefficients.tolist() for model in calibration.models(calibration.load(kept.set_aside_at()))]
    assert aside == [model.coefficients.tolist() for model in calibration.models(busy.data)]


def test_a_better_calibration_replaces_the_kept_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrated(tmp_path / "a", monkeypatch, 8.0, seed=1)
    before = kept.recalled(made_up("toy sort"))
    quieter = calibrated(tmp_path / "b", monkeypatch, 0.01, seed=2)
    quieter.save()
    after = kept.recalled(made_up("toy sort"))
    assert quieter.data["verdicts"]["toy sort"]["kept"] == "new"
    assert "toy sort: the new models are kept, because" in quieter.data["verdicts"]["toy sort"]["said"]
    found = {model.name: model for model in calibration.models(quieter.data)}
    assert after.models["first"].coefficients.tolist() == found["toy sort/first"].coefficients.tolist()
    aside = {model.name: model for model in calibration.models(calibration.load(kept.set_aside_at()))}
    assert aside["toy sort/first"].coefficients.tolist() == before.models["first"].coefficients.tolist()


def test_models_that_are_not_compared_yet_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrated(tmp_path / "a", monkeypatch, 0.01, seed=1)
    before = kept.recalled(made_up("toy sort")).to_json()

    def ctrl_c(done: float, text: str) -> None:
        if text.startswith("fresh points"):
            raise KeyboardInterrupt

    second = calibration.Calibration(["sort"], tmp_path / "b", seed=2)
    with pytest.raises(KeyboardInterrupt):
        second.measure(ctrl_c)
    second.save()
    assert kept.recalled(made_up("toy sort")).to_json() == before
    calls = len(CALLS)
    third = calibration.Calibration(["sort"], tmp_path / "b", seed=2)
    third.measure(quiet)
    assert third.data["verdicts"]["toy sort"]["kept"] in ("new", "earlier")
    assert len(CALLS) < calls + 2 * 7 * 20 + 1, "only the fresh points are measured"


@pytest.mark.parametrize("noise", [0.01, 8.0])
def test_models_of_other_code_are_not_used_until_they_are_compared_with_new_ones(
    noise: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrated(tmp_path / "a", monkeypatch, 0.01, seed=1)
    monkeypatch.setattr(kept, "code_of", lambda library: "edited")
    with pytest.warns(kept.CalibrationWarning, match="of toy sort were measured before its implementations.*its rule"):
        assert not kept.recalled(made_up("toy sort")).models
    new = calibrated(tmp_path / "b", monkeypatch, noise, seed=2)
    if noise > 1:
        assert new.data["verdicts"]["toy sort"]["kept"] == "earlier", "they are the better ones with this code as well"
    used = kept.recalled(made_up("toy sort")).models
    assert used["first"].predict(10_000, 8) == pytest.approx(1e-6 + 1e-9 * 10_000, rel=0.03)


def test_an_interrupted_calibration_begins_again_if_the_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = calibration.Calibration(["sort"], tmp_path, seed=1)
    first.measure(quiet)
    first.data["interrupted"] = True
    first.save()
    assert calibration.Calibration(["sort"], tmp_path, seed=1).data["libraries"].keys() == {"toy sort"}
    monkeypatch.setattr(kept, "code_of", lambda library: "edited")
    assert calibration.Calibration(["sort"], tmp_path, seed=1).data["libraries"] == {}


def test_timings_of_a_library_are_not_continued_if_its_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupts(done: float, text: str) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibration.Calibration(["sort"], tmp_path, seed=1).measure(interrupts)
    assert len(under_way(tmp_path)) == 1
    CALLS.clear()
    monkeypatch.setattr(kept, "code_of", lambda library: "edited")
    calibration.Calibration(["sort"], tmp_path, seed=1).measure(quiet)
    assert sum(name == "toy sort/first" for name, _ in CALLS) == 3 * 36, "all are measured again"
    assert not under_way(tmp_path)


def test_models_of_another_form_of_a_library_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrated(tmp_path / "a", monkeypatch, 0.01, seed=1)

    def larger(name: str) -> Library:
        library = made_up(name)
        library.add(Implementation("third", lambda n, width: 1e-6 * n, ["n"]))
        return library

    monkeypatch.setattr(calibration, "libraries", lambda kernels: [larger(f"toy {kernel}") for kernel in kernels])
    made = calibration.Calibration(["sort"], tmp_path / "b", 1)
    made.measure(quiet)
    assert (
        "the new models are kept, because the earlier models of toy sort have none of toy sort/third"
        in (made.data["verdicts"]["toy sort"]["said"])
    )
    assert kept.recalled(larger("toy sort")).models.keys() == {"first", "second", "third"}


@pytest.mark.parametrize(
    ("new", "earlier", "noise", "kept_ones", "said"),
    [
        (0.04, 0.08, 0.01, "new", "is 4.0%, and that of the earlier ones 8.0%"),
        (0.08, 0.04, 0.01, "earlier", "is 4.0%, and that of the new ones 8.0%"),
        (0.076, 0.08, 0.01, "earlier", "of the new ones 7.6%, which is not less beyond the noise of 1.0%"),
        (0.08, 0.08, 0.0, "earlier", "of the new ones 8.0%, which is not less beyond the noise of 0.0%"),
    ],
)
def test_the_earlier_models_stay_unless_the_new_ones_are_better_beyond_the_noise(
    new: float, earlier: float, noise: float, kept_ones: str, said: str
) -> None:
    verdict = Verdict("toy", 40, new, earlier, noise)
    assert verdict.to_json()["kept"] == kept_ones
    start = f"toy: the {kept_ones} models are kept, because their error on 40 fresh measurements is "
    assert str(verdict).startswith(start)
    assert str(verdict).endswith(said)
