"""The main job on a machine of two nodes: costs, near and far, and programs in their intervals."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.nodes import NETWORK, on_nodes

import smp
from smp._runtime.mpi import jobs
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.serial import rank_here
from smp.kernels.lists.wyllie import rank_wyllie
from smp.kernels.sorting.forms import FORMS
from smp.microbench.command import main
from smp.microbench.method.plan import Plan
from smp.microbench.method.ranks import Ranks
from smp.microbench.sections.node_programs import probe as programs
from smp.microbench.sections.nodes import probe
from smp.models.supersteps.far import FAR
from smp.profiles.profile import Profile

pytestmark = pytest.mark.mpi


def words() -> tuple[str, ...]:
    """Return the words that launch two nodes of two ranks."""
    return (jobs.mpiexec(), "-launcher", "fork", "-hosts", "a:2,b:2", *NETWORK)


def test_far_accesses_have_prices_and_programs_have_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(probe.EFFORTS["quick"], seconds=0.1, good=(200, 20_000), bad=(100, 2_000))
    monkeypatch.setattr(probe, "EFFORTS", {"quick": short})
    monkeypatch.setattr(probe, "LEAST_ROUNDS", 1)
    monkeypatch.setattr(programs, "LENGTHS", {"quick": (20_000,)})
    plan = Plan("quick", (4,), 3, 64, ranks=Ranks(4, launcher=words()))
    taken = probe.measure(plan, lambda done, text: None)
    assert taken.data.nodes == [2, 2]
    assert {row.where for row in taken.data.operations} == {"all", "near", "far"}
    assert all(set(function.terms) >= set(FAR) for function in taken.data.functions)
    samples = taken.samples["nodes"]
    assert (samples["m_far"] <= samples["m"]).all()
    assert ((samples["messages"] > 0) == (samples["m_far"] > 0)).all()
    found = Profile({"machine": {"kind": "mpi"}, "nodes": taken.data.to_json()})
    ran = programs.measure(plan, lambda done, text: None, found)
    assert all(row.good_s is not None for row in ran.data.rows)
    moved = next(step for step in ran.data.steps if (step.program, step.label) == ("radix sort", "move"))
    assert 0 < moved.far_writes < moved.hw, "keys go to both nodes"
    assert moved.messages > 0


@pytest.fixture(scope="module")
def three() -> Iterator[smp.Machine]:
    """A machine of two nodes, one with two processors."""
    with on_nodes(2, 1) as machine:
        yield machine


@pytest.mark.parametrize("n", [0, 1, 7, 5_000])
def test_kernels_in_supersteps_run_on_nodes(three: smp.Machine, n: int) -> None:
    keys = np.random.default_rng(n).integers(-50, 1 << 31, n)
    for name, form in FORMS.items():
        shared = three.array(keys)
        three.run(form.loaded(), shared)
        assert np.array_equal(shared[:], np.sort(keys)), name
    successor = random_list(n, 3)
    ranks = three.empty(n, successor.dtype)
    three.run(rank_wyllie, three.array(successor), ranks)
    assert np.array_equal(ranks[:], rank_here(successor))


def test_the_nodes_of_a_machine_are_known(three: smp.Machine) -> None:
    assert three.nodes == [0, 0, 1]
    assert three.run(lambda proc: None).nodes == [0, 0, 1]
    with smp.host(2) as host:
        assert host.nodes == [0, 0]


@pytest.mark.slow
def test_the_command_measures_a_machine_of_two_nodes_and_keeps_its_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "kept"))
    folder = tmp_path / "report"
    assert main(["--quick", "--machine", "mpi:4", "--launcher", " ".join(words()), "--out", str(folder)]) == 0
    data = json.loads((folder / "profile.json").read_text())
    assert data["machine"]["kind"] == "mpi"
    assert {"nodes", "node_programs"} <= set(data)
    assert sorted(file.name for file in folder.glob("*.png")) == ["node-programs-interval.png", "nodes-predictions.png"]
    with on_nodes(2, 2) as machine:
        run = machine.run(FORMS["sample"].loaded(), machine.array(np.arange(50_000)[::-1].copy()))
    placed = run.interval()
    assert len(placed) == 5
    assert any(note.startswith("good: ") and "more for far ones" in note for note in placed.notes)


@pytest.mark.slow
def test_the_command_runs_under_a_launcher(tmp_path: Path) -> None:
    command = [*words(), "-n", "4", sys.executable, "-m", "smp", "-m", "smp.microbench", "--machine", "mpi"]
    more = ["--quick", "--only", "nodes", "--no-plots", "--out", str(tmp_path / "report")]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Operations on 2 nodes of 2 processors") == 1, "only rank 0 runs the module"
    assert json.loads((tmp_path / "report/profile.json").read_text())["nodes"]["nodes"] == [2, 2]
