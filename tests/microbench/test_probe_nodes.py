"""Machines of MPI: the patterns, the probes on a machine of one node, predictions, the report and the command.

Here, a machine of the host stands in for a machine of MPI with one node; `test_mpi_measured` has several nodes.
"""

import copy
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reports import section_text, summed_up
from support.shapes import measured

import smp
from smp.errors import ProfileError
from smp.microbench.command import main
from smp.microbench.method.plan import Plan, PlanError, Stopped
from smp.microbench.method.ranks import Ranks
from smp.microbench.sections.node_programs import probe as programs
from smp.microbench.sections.nodes import probe
from smp.microbench.sections.nodes.operations import OF_ALL, WITH_PARTNER, tasks_of
from smp.microbench.sections.nodes.patterns import APART, MOST, patterns_of
from smp.models.supersteps.far import FAR
from smp.profiles.profile import Profile, kept_at


class OneNode(Ranks):
    """Opens a machine of the host."""

    def open(self) -> smp.Machine:
        return smp.host(self.size)


PLAN = Plan("quick", (2,), 3, 64, ranks=OneNode(2))
SHORT = {"quick": replace(probe.EFFORTS["quick"], seconds=0.1, good=(200, 2_000), bad=(100, 1_000))}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure few and short patterns, and few operations."""
    monkeypatch.setattr(probe, "EFFORTS", SHORT)
    monkeypatch.setattr(probe, "LEAST_ROUNDS", 1)
    monkeypatch.setattr(programs, "LENGTHS", {"quick": (600,)})


def profile_of(**sections: Any) -> Profile:
    return Profile({"machine": {"kind": "mpi"}, "created": "now", **sections})


# Patterns.


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.integers(1, 5_000), min_size=1, max_size=3, unique=True),
    st.sampled_from(("good", "bad")),
    st.integers(0, 100),
)
def test_patterns_have_near_and_far_words_that_their_machine_can_copy(
    counts: list[int], sizes: list[int], family: str, seed: int
) -> None:
    nodes = [node for node, count in enumerate(counts) for _ in range(count)]
    found = patterns_of(family, nodes, sizes, np.random.default_rng(seed))
    p, most_of_a_node = len(nodes), max(counts)
    each = min(3 * (p - 1) + 1, MOST)
    assert len(found) == 3 * len(sizes) * each
    for pattern in found:
        words = np.array([pattern.near_reads, pattern.far_reads, pattern.near_writes, pattern.far_writes])
        assert words.shape == (4, p)
        assert words.min() >= 0
        assert pattern.words <= max(sizes)
        if len(counts) == 1:
            assert pattern.owners == 0
            assert not words[[1, 3]].any()
        else:
            assert 1 <= pattern.owners <= p - most_of_a_node


def test_suite_1_has_far_shares_of_nothing_a_half_and_everything() -> None:
    found = patterns_of("good", [0, 0, 1, 1], [1_000], np.random.default_rng(1))
    busiest = [(max(one.near_reads), max(one.far_reads)) for one in found if one.suite == 1]
    assert {(1_000, 0), (500, 500), (0, 1_000)} <= set(busiest)


def test_each_operation_with_a_partner_is_near_or_far() -> None:
    def places(nodes: list[int]) -> dict[str, set[int]]:
        return {where: {t.partner for t in tasks_of(nodes) if t.where == where} for where in ("all", "near", "far")}

    assert places([0, 0, 1, 1]) == {"all": {0}, "near": {1}, "far": {2}}
    assert places([0, 1]) == {"all": {0}, "near": set(), "far": {1}}
    assert places([0, 0]) == {"all": {0}, "near": {1}, "far": set()}
    assert len(tasks_of([0, 0, 1])) == len(OF_ALL) + 2 * len(WITH_PARTNER)


# Probes.


def test_one_node_is_measured_without_far_terms_and_its_programs_have_intervals(short: None) -> None:
    progress: list[float] = []
    taken = probe.measure(PLAN, lambda done, text: progress.append(done))
    data = taken.data
    assert progress[-1] == 1.0
    assert sorted(progress) == progress
    assert data.nodes == [2]
    assert {row.where for row in data.operations} == {"all", "near"}
    assert all(row.low_s <= row.seconds <= row.high_s for row in data.operations)
    for function in data.functions:
        assert not set(function.terms) & set(FAR)
        assert function.count == 2 * function.apart, "suites 1 and 2 are fitted, and suite 3 is kept apart"
    assert len(taken.samples["nodes"]) == probe.REPEATS * len(data.patterns)
    apart = [row for row in data.patterns if row.suite == APART and row.family == "good"]
    off = [abs(row.predicted_s - row.seconds) / row.seconds for row in apart]
    assert data.functions[0].average == pytest.approx(np.mean(off))

    ran = programs.measure(PLAN, lambda done, text: None, Profile({"nodes": data.to_json()}))
    assert [row.program for row in ran.data.rows] == ["radix sort", "sample sort", "column sort", "Wyllie"]
    assert all(row.good_s is not None and row.bad_s >= row.good_s for row in ran.data.rows)
    assert all(step.far_reads is None for step in ran.data.steps), "on one node nothing is far"


def test_counts_that_are_not_those_of_the_patterns_are_an_error(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_asked", lambda pattern: [1, 2, 3, 4])
    with pytest.raises(probe.MeasurementError, match="the patterns have the counts"):
        probe.measure(PLAN, lambda done, text: None)


def test_ctrl_c_keeps_the_complete_rounds(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "EFFORTS", {"quick": replace(SHORT["quick"], seconds=60.0)})
    rounds: list[int] = []
    visited = probe._visited

    def pressed(*args: Any) -> Any:
        rounds.append(args[-1])
        if args[-1] == PLAN.seed + 1:
            raise KeyboardInterrupt
        return visited(*args)

    monkeypatch.setattr(probe, "_visited", pressed)
    with pytest.raises(Stopped) as stopped:
        probe.measure(PLAN, lambda done, text: None)
    assert stopped.value.name == "nodes"
    assert set(stopped.value.section.samples["nodes"]["round"]) == {0}


def test_a_wrong_result_of_a_program_is_an_error(short: None) -> None:
    case = programs.cases_of(600, 1)[0]
    with smp.host(2) as machine, pytest.raises(programs.WrongResult, match="radix sort on 2 processors"):
        programs._ran(machine, case._replace(expected=case.expected[::-1]))


def test_a_plan_of_the_host_has_no_machine_of_mpi() -> None:
    with pytest.raises(PlanError, match="name one with --machine, such as mpi:4"):
        replace(PLAN, ranks=None).machine()


# Predictions.


def run_on(nodes: list[int], kind: str) -> smp.Run:
    """Return a run on the host as if it were one of another machine."""

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep("all") as step:
            step.copy_in(array)
            step.compute()

    with smp.host(2) as machine:
        run = machine.run(program, machine.zeros(20_000))
    run.kind, run.nodes = kind, nodes
    return run


def test_the_interval_of_a_run_on_nodes_is_that_of_the_functions_for_nodes() -> None:
    function = {"terms": ["L", "ghr"], "unidentified": [], "average": 0.1}
    functions = [
        {**function, "family": family, "coefficients": [1.0, price]}
        for family, price in (("good", 1e-3), ("bad", 1e-2))
    ]
    found = profile_of(nodes={"nodes": [1, 1], "functions": functions})
    placed = run_on([0, 1], "mpi").interval(found)
    assert placed.good == pytest.approx([1.0 + 20.0])
    assert placed.bad == pytest.approx([1.0 + 200.0])
    wider = profile_of(nodes={"nodes": [2, 2], "functions": functions})
    assert "p = 2 was not measured: predicted from p = 4 on 2 nodes" in run_on([0, 1], "mpi").interval(wider).notes
    with pytest.raises(ProfileError, match="no function of the bad family for several nodes"):
        run_on([0, 1], "mpi").interval(profile_of(nodes={"nodes": [1, 1], "functions": functions[:1]}))


def test_only_one_node_is_predicted_by_the_profile_of_the_host() -> None:
    host = Profile(measured_profile())
    assert len(run_on([0, 0], "mpi").interval(host))
    with pytest.raises(ProfileError, match="the memory of nodes has other costs"):
        run_on([0, 1], "mpi").interval(host)


def measured_profile() -> dict[str, Any]:
    return {"machine": {"kind": "host"}, "access": measured("access")}


def test_profiles_of_both_kinds_are_kept_apart(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    described = {"cpu": "Z80", "cpus": 1, "line_bytes": 1, "caches": []}
    assert kept_at(described) == kept_at(described | {"kind": "host"}) != kept_at(described | {"kind": "mpi"})
    with pytest.raises(
        ProfileError, match=r"no profile of a machine of MPI has been measured yet; .* --machine mpi makes"
    ):
        Profile.find("mpi")
    with pytest.raises(ProfileError, match="no profile of a machine of MPI"):
        run_on([0, 1], "mpi").interval()


# The report.


def test_the_report_shows_operations_and_prices_near_and_far() -> None:
    nodes = measured("nodes")
    text = section_text("nodes", nodes)
    assert "Operations on 2 nodes of 2 processors" in text
    assert re.search(r"^barrier +[\d,.]+\s*!? *$", text, re.MULTILINE)
    assert re.search(r"^read of 8 bytes +[\d,.]+\s*!? +[\d,.]+\s*!? *$", text, re.MULTILINE)
    heading, line = summed_up("nodes", nodes)
    assert heading == "Nodes"
    assert re.match(
        r"2 nodes of 2 processors: barrier .*, read of 8 bytes .* \(near\), read of 8 bytes .* \(far\)", line
    )


def test_a_function_that_does_not_hold_on_the_suite_kept_apart_is_marked() -> None:
    nodes = copy.deepcopy(measured("nodes"))
    for function, average in zip(nodes["functions"], (0.1, 0.3), strict=True):
        function["average"] = average
    text = section_text("nodes", nodes)
    assert re.search(r"^Good +\d+ +\d+ +10\.0 ", text, re.MULTILINE)
    assert re.search(r"^Bad +\d+ +\d+ +30\.0 !", text, re.MULTILINE)
    from smp.profiles.kept_apart import families_off

    assert families_off(profile_of(nodes=nodes), 4) == ["bad"]


def test_the_report_shows_the_far_accesses_of_supersteps() -> None:
    text = section_text("node_programs", measured("node_programs"))
    assert "Radix sort, n = 100,000: supersteps of one label together" in text
    step = next(
        step
        for step in measured("node_programs")["steps"]
        if (step["program"], step["n"], step["label"]) == ("radix sort", 100_000, "move")
    )
    counts = (step[name] for name in ("times", "hr", "hw", "m", "far_reads", "far_writes", "messages"))
    assert re.search(rf"^move +{' +'.join(f'{count:,}' for count in counts)} ", text, re.MULTILINE)


# The command.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "cray"], "'cray' is not a machine: give host, mpi, or mpi:N"),
        (["--machine", "mpi:0"], "'mpi:0' is not a machine"),
        (["--machine", "mpi:2", "-p", "2"], "argument -p: goes only with the host"),
        (["--hosts", "a:2"], "--hosts and --launcher: go only with --machine mpi"),
        (["--only", "nodes"], "nodes is measured only with --machine mpi"),
        (["--machine", "mpi", "--only", "latency"], "latency is measured only without --machine mpi"),
    ],
)
def test_wrong_uses_of_the_machine_are_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def test_a_machine_that_does_not_come_up_is_an_error_of_the_command(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(self: Ranks) -> smp.Machine:
        raise smp.errors.MachineError("MPI is not installed")

    monkeypatch.setattr(Ranks, "open", refused)
    assert main(["--quick", "--machine", "mpi:2", "--out", str(tmp_path / "report"), "--no-plots"]) == 1
    assert "MPI is not installed" in capsys.readouterr().err
