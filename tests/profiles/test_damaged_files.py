"""Files that are damaged at random: each is refused by an error that names the problem, or its data are used."""

import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.audited import quiet
from support.libraries import interrupted as timings_file
from support.libraries import made_library, made_up
from support.mutations import mutated

import smp
from smp._output import terminal
from smp._output.table import Part
from smp._runtime.program.steps import SUMMARY
from smp.errors import ExperimentError, ModelError, ProfileError, SmpError
from smp.microbench import command
from smp.microbench.calibration import kernels as calibration
from smp.microbench.calibration import tables as report_models
from smp.microbench.campaign import Campaign, make_plan
from smp.microbench.method.samples import samples_of
from smp.microbench.predictions.changes import calibrated as hybrid_of
from smp.microbench.predictions.comparison import compare
from smp.microbench.predictions.figures import titles
from smp.microbench.predictions.report_impact import impact_report
from smp.microbench.report import whole_report
from smp.models.fit.expressions import Expression, python_function
from smp.perturb import Trials, climb, factor, screen
from smp.perturb import command as perturbing
from smp.perturb.analysis.effects import Analysis
from smp.perturb.analysis.table import trials_table
from smp.perturb.results import loaded
from smp.profiles import profile
from smp.profiles.charges import charged
from smp.profiles.contention import contention_parameters
from smp.profiles.profile import Profile
from smp.selection import timings
from smp.selection.calibration import _series, alike

MEASURED, ON_NODES = (Path(__file__).parents[1] / "data/profile" / name for name in ("quick.json", "mpi.json"))
OFTEN = pytest.mark.parametrize(("seed", "count"), [(1, 60), pytest.param(2, 5_000, marks=pytest.mark.slow)])
LONGEST_S = 10.0
"""Limit far above the time that any file takes, even on a busy computer; an endless computation exceeds it."""

Use = Callable[[Path], None]


def survives(document: Any, use: Use, file: Path, errors: type[SmpError], seed: int, count: int, *but: str) -> None:
    """Use many damaged versions of a file: each raises one of the errors, with a one-line message, or nothing.

    No code runs and no process starts meanwhile, but for the events ``but``.
    """
    rng, refused = random.Random(seed), 0
    file.write_text(json.dumps(document))
    use(file)  # imports what it needs, which runs code of our own
    for k in range(count):
        file.write_bytes(mutated(document, rng))
        began, said = time.monotonic(), ""
        try:
            with quiet(*but):
                use(file)
        except errors as error:
            refused, said = refused + 1, str(error)
        except Exception as error:
            raise AssertionError(f"mutation {k} of seed {seed}: {file.read_bytes()[:2000]!r}") from error
        assert "\n" not in said, (k, said)
        assert time.monotonic() - began < LONGEST_S, k
    assert count / 10 < refused < count, "some mutations are harmless, and some are not"


# Profiles.


def supersteps() -> np.ndarray:
    """Return the supersteps of a run of two processors."""
    rows = np.zeros(2, SUMMARY)
    rows["hr"], rows["hw"], rows["m"], rows["copy_in"] = 80_000, 100, 80_100, 1e-4
    rows["hr_bytes"], rows["hw_bytes"], rows["m_bytes"] = 640_000, 800, 640_800
    return rows


@pytest.fixture
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe this machine only once, because that takes longer than all the rest."""
    described = profile.hardware()
    monkeypatch.setattr(profile, "hardware", lambda: described)


@pytest.mark.usefixtures("this_machine")
@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("measured", [MEASURED, ON_NODES], ids=["host", "mpi"])
@OFTEN
def test_a_damaged_profile_is_refused_or_used(tmp_path: Path, seed: int, count: int, measured: Path) -> None:
    whole, uses = Profile.load(measured), 0
    for name in whole_report.SECTIONS:  # imports the modules of all, which runs code of our own
        if whole.data.get(name):
            whole_report.part(whole, name)

    def use(file: Path) -> None:
        nonlocal uses
        found = Profile.load(file)
        uses += 1
        whole_report.summary(found)
        changed = {name for name in whole_report.SECTIONS if found.data.get(name) != whole.data.get(name)}
        for name in changed if found.predicts else whole_report.SECTIONS:
            if found.data.get(name):
                whole_report.part(found, name)
        if changed & set(titles()):
            compare(found, whole)
        for named in (_interval, _prices, _contention):
            with contextlib.suppress(ProfileError):  # a section is missing
                named(found)

    survives(json.loads(measured.read_text()), use, tmp_path / "profile.json", ProfileError, seed, count)
    assert uses > count / 10


def _interval(found: Profile) -> None:
    for p in (1, 2, 3):
        str(found.interval(supersteps(), p))


def _prices(found: Profile) -> None:
    charged(found, supersteps(), 2)
    impact_report(found, "radix", 100_000, 2, hybrid=hybrid_of(found, "radix", 2))


def _contention(found: Profile) -> None:
    contention_parameters(found.data)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_command_reports_a_damaged_profile_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, rng, codes = tmp_path / "profile.json", random.Random(3), set()
    for k in range(9):
        file.write_bytes(mutated(json.loads(MEASURED.read_text()), rng))
        use = (["--profile"], ["--compare", str(MEASURED)], ["--impact", "radix,1e5,2", "--profile"])[k % 3]
        codes.add(command.main(["--no-plots", *use, str(file)]))
        assert "Traceback" not in capsys.readouterr().err
    assert codes == {0, 1}


def test_damaged_samples_are_ignored(tmp_path: Path) -> None:
    file, rng = tmp_path / "samples.npz", random.Random(4)
    np.savez_compressed(file, lists=np.zeros(9, [("n", "i8"), ("seconds", "f8")]))
    whole, found = file.read_bytes(), Profile(json.loads(MEASURED.read_text()), tmp_path / "profile.json")
    assert list(samples_of(found)) == ["lists"]
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= rng.randrange(1, 256)
        file.write_bytes(damaged[: rng.choice((len(damaged), rng.randrange(len(damaged))))])
        assert set(samples_of(found)) <= {"lists"}
    assert not samples_of(Profile({**found.data, "samples": "a/b"}, found.path))


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("access.functions.3.coefficients.1", "x", r"access\.functions\[3\]\.coefficients\[1\] is 'x'; it should be a"),
        (
            "access.functions.0.coefficients",
            [1.0],
            r"access\.functions\[0\]: there are \d terms, but 1 numbers in 'coeff",
        ),
        ("access.functions.2.terms.1", "gX", r"access\.functions\[2\]\.terms\[1\] is 'gX'"),
        ("access.tiers.0.words", -1, r"access\.tiers\[0\]\.words is -1; it should be greater"),
        ("access.tiers", [], r"access: the tiers have \[\] words"),
        ("lists.rows.0.p", 10**9, r"lists\.rows\[0\]\.p is 1000000000; it should be less"),
        ("synchronisation.handoff_cpus", [0], r"synchronisation: there are 1 CPUs, but the matrix"),
        ("synchronisation.barrier_us", {"two": {}}, r"synchronisation\.barrier_us\.two is 'two'; string should match"),
        ("machine.cpus", None, r"machine\.cpus is None; it should be a valid integer"),
        (
            "latency.page_walk_from",
            "1\n0us",
            r"latency\.page_walk_from is '1\\n0us'; it should be 'huge' or 'page_local'",
        ),
        ("machine", "9\n9", r"machine is '9\\n9'; it should be a valid dictionary"),
        ("latency.levels.0.ns", float("nan"), r"latency\.levels\[0\]\.ns is nan; it should be a"),
    ],
)
def test_an_error_names_the_place_the_value_and_what_is_expected(
    path: str, value: Any, says: str, tmp_path: Path
) -> None:
    document = json.loads(MEASURED.read_text())
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    holder = document
    for part in parents:
        holder = holder[part]
    holder[last] = value
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ProfileError, match=rf"profile\.json is damaged: {says}.*--quick makes one"):
        Profile.load(file)


def test_the_layout_of_a_document_with_broken_lines_is_reported_in_one_line(
    models: dict[str, Any], tmp_path: Path
) -> None:
    models["libraries"]["toy sort"]["format"] = "a\n\tb"
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(models))
    with pytest.raises(ModelError, match=r"is damaged: .* 'a b' found using 'format'") as caught:
        calibration.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning")
def test_collectives_of_vectors_without_their_length_are_reported(tmp_path: Path) -> None:
    document = json.loads(MEASURED.read_text())
    for row in document["messages"]["rows"]:
        if row.get("words"):
            row["words"] = None
            break
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(document))
    assert whole_report.part(Profile.load(file), "messages").tables


@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning")
def test_a_partial_profile_is_read_and_reported(tmp_path: Path) -> None:
    """Profiles as an interrupted run leaves them, one made up by hand, and one with fields of a later version."""
    whole = json.loads(MEASURED.read_text())
    for name in whole_report.SECTIONS:
        (tmp_path / "profile.json").write_text(json.dumps({**whole, name: None, "extra": {"a": [1]}}))
        found = Profile.load(tmp_path)
        whole_report.summary(found)
        assert len(whole_report.sections(found)) == len({*whole_report.SECTIONS} & {*whole} - {name})
    added = Campaign(make_plan("quick", (1,), 1), found)
    added.begin((), tmp_path / "added")
    added.measure(lambda done, text: None)
    added.save()
    assert added.profile.data["conditions"]["clean_fraction"] == pytest.approx(0.92, abs=0.05)
    made_up = Profile.load(Path(__file__).parents[2] / "examples/what_if.json")
    assert whole_report.sections(made_up)


# Models.

EXPRESSIONS = "exec"
"""Event of the functions that are made of checked expressions."""


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Return the document of a calibration with made-up times."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(timings, "timed", lambda call: call() * (1 + 0.01 * rng.standard_normal()))
    monkeypatch.setattr(calibration, "libraries", lambda kernels: [made_up(f"toy {kernel}") for kernel in kernels])
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))
    made = calibration.Calibration(["sort", "lists"], tmp_path, seed=1)
    made.measure(lambda done, text: None)
    return json.loads(json.dumps(made.data))  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@OFTEN
def test_damaged_models_are_refused_or_used(models: dict[str, Any], tmp_path: Path, seed: int, count: int) -> None:
    def use(file: Path) -> None:
        data = calibration.load(file)
        report_models.report(data)
        for model in calibration.models(data):
            str(model), model.python(), model.c()
            lows = {given.name: given.low for given in model.inputs}
            model.of(lows), model.interval(lows), model.extrapolates(**lows)
        library = made_up("toy sort")
        if library.name in data["libraries"]:
            library.use_json(data["libraries"][library.name])
        for n in (10, 10_000, 10**9):
            library.choose(n, 8)

    survives(models, use, tmp_path / "calibration.json", ModelError, seed, count, EXPRESSIONS)


def test_an_undefined_term_predicts_nothing(models: dict[str, Any]) -> None:
    document = models["libraries"]["toy sort"]
    library = made_up("toy sort")
    library.use_json(document)
    assert library.choose(10**6, 8) == "second"
    document["models"]["second"]["terms"] = {"1": "1", "n": "log2(n - 1e9)"}
    document["models"]["second"] |= {"coefficients": [1.0, 1.0], "covariance": [[1.0, 0.0], [0.0, 1.0]]}
    library.use_json(document)
    assert library.choose(10**6, 8) == "first"


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "n * 9**9**9", "2 ** 5000", "0 ** -1", "-" * 900 + "n", "(" * 400 + "n" + ")" * 400, "n+" * 600 + "n"],
)
def test_an_unbounded_expression_is_refused_when_a_model_is_read(models: dict[str, Any], text: str) -> None:
    model = models["libraries"]["toy sort"]["models"]["first"]
    model["terms"] = dict.fromkeys(model["terms"], text)
    with pytest.raises(ModelError, match="the model 'toy sort/first' is damaged: "):
        smp.Model.from_json(model)


@pytest.mark.parametrize("text", ["n ** n", "n ** n ** n", "((n ** 9) ** 9) ** 9 ** 3", "floor(9.5 ** n)", "2 ** n"])
def test_a_power_of_large_integers_overflows_like_one_of_floats(text: str) -> None:
    predict = python_function("predict", ["n"], Expression(text, ["n"]).python)
    assert predict(1) == eval(text.replace("floor", "int"), {"n": 1})
    with pytest.raises(OverflowError):
        predict(10**9)


@pytest.mark.parametrize(
    "text", ["1..1e9 x 999999999", "1..9 x " + "9" * 5000, "1, 1e999", "linear 0..1 x 100001 real"]
)
def test_an_unbounded_range_is_refused(models: dict[str, Any], text: str) -> None:
    model = models["libraries"]["toy sort"]["models"]["first"]
    model["inputs"]["n"] = text
    with pytest.raises(ModelError, match=r"at most 100,000 values|larger than a float"):
        smp.Model.from_json(model)


@OFTEN
def test_damaged_timings_are_refused_or_used(interrupted: Path, tmp_path: Path, seed: int, count: int) -> None:
    document = json.loads(interrupted.read_text())
    file = tmp_path / "damaged.json"

    def use(file: Path) -> None:
        library, _ = made_library()
        specifications = list(library.specifications())
        each = [_series(group, 5, 1) for group in alike(specifications)]
        timings.take_up(each, file)
        for one in each:
            list(one.wanting()), one.taken()

    survives(document, use, file, ModelError, seed, count, EXPRESSIONS)


interrupted = timings_file

# Experiments.


def program(proc: smp.Processor) -> dict[str, float]:
    for _ in range(4):
        with factor("hot"):
            proc.barrier()
    with factor("cold"), factor("inner"):
        proc.barrier()
    return {"passes": 4.0}


@pytest.fixture(scope="module")
def machine() -> Iterator[smp.Machine]:
    with smp.emulated(2, schedule="clock") as made:
        yield made


def shown(file: Path) -> None:
    """Read trials or a ladder, and make everything that the command prints, and more."""
    found = loaded(file)
    names = perturbing._told(found.trials, None)
    terminal.report([Part("", found.report(names))])
    json.dumps(found.document(names))
    found.trials.search().table()
    found.trials.best()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("design", "treatment"), [("2^3", "10us"), ("PB4", "work:10"), ("OA9(3^4)", (None, "10us", "20us"))]
)
@OFTEN
def test_damaged_trials_are_refused_or_used(
    machine: smp.Machine, tmp_path: Path, design: str, treatment: Any, seed: int, count: int
) -> None:
    file = tmp_path / "trials.json"
    screen(program, design, treatment=treatment, machine=machine, replicates=2).save(file)
    survives(json.loads(file.read_text()), shown, file, ExperimentError, seed, count)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@OFTEN
def test_a_damaged_ladder_is_refused_or_used(machine: smp.Machine, tmp_path: Path, seed: int, count: int) -> None:
    file = tmp_path / "ladder.json"
    climb(program, ("10us", "20us", "50us"), machine=machine, replicates=2).save(file)
    survives(json.loads(file.read_text()), shown, file, ExperimentError, seed, count)


@OFTEN
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_trials_of_an_interrupted_experiment_are_refused_or_used(
    machine: smp.Machine, tmp_path: Path, seed: int, count: int
) -> None:
    kept = tmp_path / "interrupted.json"

    def experiment(file: Path, until: float) -> Trials:
        def progress(done: float, text: str) -> None:
            if done > until:
                raise KeyboardInterrupt

        return screen(program, "2^3", machine=machine, replicates=2, resume=file, progress=progress)

    with pytest.raises(KeyboardInterrupt):
        experiment(kept, 0.9)

    def use(file: Path) -> None:
        experiment(file, 2.0).analyse()

    own = "pickle.find_class", "ctypes.dlopen"  # of the experiment that goes on, whose program is this test's
    survives(json.loads(kept.read_text()), use, kept, ExperimentError, seed, count, *own)


@OFTEN
def test_a_damaged_analysis_is_refused_or_used(machine: smp.Machine, tmp_path: Path, seed: int, count: int) -> None:
    document = screen(program, "2^3", machine=machine, replicates=2).analyse().to_json()

    def use(file: Path) -> None:
        try:
            data = json.loads(file.read_text())
        except (ValueError, RecursionError):
            raise ExperimentError("no JSON") from None
        found = Analysis.from_json(data)
        str(found), trials_table(found)

    survives(json.loads(json.dumps(document)), use, tmp_path / "effects.json", ExperimentError, seed, count)


def test_the_command_reports_damaged_trials_in_one_line(
    machine: smp.Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trials.json"
    screen(program, "2^3", machine=machine, replicates=2).save(file)
    document = json.loads(file.read_text())
    document["plan"]["levels"][2][1] = "-1"
    file.write_text(json.dumps(document))
    assert perturbing.main(["--trials", str(file)]) == 1
    said = capsys.readouterr().err
    assert "holds no trials of an experiment: it is damaged: plan.levels[2][1] is '-1'; it should be a valid" in said
    assert "Traceback" not in said


def test_pydantic_is_not_imported_before_a_file_is_read() -> None:
    modules = "smp, smp.kernels, smp.perturb, smp.profiles.profile, smp.models.fit.model"
    modules += ", smp.microbench.predictions.comparison"
    text = f"import sys, {modules}; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
