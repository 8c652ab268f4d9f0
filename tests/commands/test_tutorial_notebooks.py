"""The notebooks of the documentation run, show what their text says, and are stored without outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import nbformat
import pytest
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient
from support.machines import ROOT
from support.profiles import whole

FOLDER = ROOT / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
PICTURE = "(a picture)"
FREE = {"kernelspec", "language_info"}
"""Metadata of a notebook that name no person and no computer."""
Outputs = dict[str, str]
"""What each cell shows, by the id of the cell."""
Shows = Callable[[str], Outputs]


def shown_by(output: nbformat.NotebookNode) -> str:
    """Return an output as text."""
    if output.output_type == "stream":
        return str(output.text)
    return PICTURE if "image/png" in output.data else str(output.data["text/plain"])


@pytest.fixture(scope="module")
def shows(tmp_path_factory: pytest.TempPathFactory) -> Shows:
    """Run a notebook in an empty folder, with a profile of this computer; return what its cells show."""
    folder = tmp_path_factory.mktemp("notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMP_DATA_DIR", str(folder / "data"))
        whole().keep()

    @cache
    def run(name: str) -> Outputs:
        place = folder / name
        place.mkdir()
        notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(place)}})
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SMP_DATA_DIR", str(folder / "data"))
            patch.setenv("PYTHONPATH", str(ROOT))
            client.execute()  # raises the error of the first cell that fails
        assert list(place.iterdir()) == []
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        return {cell.id: "".join(map(shown_by, cell.outputs)) for cell in cells}

    return run


@pytest.fixture(scope="module", autouse=True)
def _loop() -> None:
    """Make the event loop of the clients, which stays open, before descriptors are counted."""
    ensure_event_loop()


@pytest.fixture(autouse=True)
def _clean(nothing_left: None) -> None:
    """Check that no notebook leaves a process, a file or shared memory."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_valid_and_have_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)  # since 4.5, cells have ids
    assert set(notebook.metadata) == FREE
    assert notebook.metadata.kernelspec == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert notebook.metadata.language_info == {"name": "python"}
    for cell in notebook.cells:
        assert re.fullmatch(r"[a-z][a-z\d-]+", cell.id), "ids are words, which stay when a cell is edited"
        assert set(cell.metadata) <= {"tags", "jupyter"}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_resolve(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    for target in LINK.findall("\n".join(cell.source for cell in cells if cell.cell_type == "markdown")):
        assert (FOLDER / target.partition("#")[0]).exists(), target


def test_each_exercise_has_a_cell_to_fill_in_and_a_hidden_answer() -> None:
    cells = nbformat.read(FOLDER / "list-ranking-lab.ipynb", as_version=4).cells
    ids = [cell.id for cell in cells]
    exercises = [one for one in ids if re.fullmatch(r"exercise-\d", one)]
    assert len(exercises) == 4
    for one in exercises:
        at = ids.index(one)
        assert ids[at + 1 : at + 3] == [f"{one}-yours", f"{one}-answer"]
        assert cells[at + 2].metadata == {"tags": ["hide-cell"], "jupyter": {"source_hidden": True}}


@pytest.mark.docs
def test_the_first_superstep_shows_counts_intervals_and_pictures(shows: Shows) -> None:
    shown = shows("first-superstep")
    assert "500,000  500,000  2,000,000" in shown["run"]
    assert "verdict" in shown["interval"]
    assert re.search(r"^block +M +6,000,000 .*\ninterleaved +M +6,000,000 ", shown["both"])
    assert "750,000  750,000  2,000,000" in shown["uneven"]
    for one in ("interval-plot", "good-plot", "bad-plot", "run-plot", "uneven"):
        assert PICTURE in shown[one]


@pytest.mark.docs
@pytest.mark.slow
def test_the_lab_ranks_lists_and_its_answers_are_right(shows: Shows) -> None:
    shown = shows("list-ranking-lab")
    assert shown["small"].splitlines()[1].split() == ["rank", "[3", "1", "4", "0", "2]"]
    assert "23 supersteps, M 24,300,002" in shown["wyllie"]
    assert "they agree: True" in shown["exercise-1-answer"]
    rows = dict(re.findall(r"^(rank_\w+) +([\d,]+) +\d", shown["comparison"], re.MULTILINE))
    assert rows == {"rank_serial": "900,000", "rank_wyllie": "24,300,002", "rank_helman_jaja": "904,616"}
    assert shown["exercise-2-answer"].count("rank_helman_jaja") == 3
    assert "ranks in order: True" in shown["exercise-3-answer"]
    assert len(set(re.findall(r"M ([\d,]+)", shown["exercise-4-answer"]))) == 1


@pytest.mark.docs
def test_races_and_deadlocks_are_found_repeated_and_mended(shows: Shows) -> None:
    shown = shows("races-and-deadlocks")
    assert "failed: AssertionError with 1 preemption" in shown["explore"]
    operations = [re.split(r"  +", line.strip())[:2] for line in shown["explore"].splitlines()[2:]]
    assert operations == [
        ["processor 1", "load(counter[0]) -> 0"],
        ["processor 0", "load(counter[0]) -> 0"],
        ["processor 0", "store(counter[0], 1)"],
        ["processor 1", "store(counter[0], 1)"],
    ]
    assert shown["replay"].count("Cell In[") == 4
    assert "again: counted 1 of 2" in shown["replay"]
    assert "these are all schedules of the program\ncomplete: True" in shown["fetch-add"]
    for one in ("lock", "ordered"):
        assert shown[one].startswith("no failure: ")
        assert "all schedules with at most 2 preemptions" in shown[one]
    assert shown["all-schedules"].endswith("these are all schedules of the program\n")
    assert shown["two-locks"].startswith("DeadlockError: ")
    assert shown["two-locks"].count("does not return") == 2
    table = r"^0 +0 +readfe of cell 1 .*\n1 +0 +readfe of cell 0 "
    assert re.search(table, shown["host-deadlock"], re.MULTILINE)
    assert "ready" in shown["host-deadlock"]
    assert re.search(r"processor 0: reduce.*\n +processor 1: return from the program", shown["mismatch"])
    assert re.search(
        r"RaceError with 0 preemptions.*\n.*Cell In\[(\d+)\], line 2, and .* Cell In\[\1\], line 2", shown["race"]
    )
    assert shown["lost"].count("counter[0] -> 0 ") == shown["lost"].count("counter[0] = 1 ") == 2


@pytest.mark.docs
@pytest.mark.slow
def test_an_own_kernel_is_modelled_chosen_and_perturbed(shows: Shows) -> None:
    shown = shows("own-kernel")
    assert shown["kernel"] == "3"
    assert re.search(r"pairs \[(\d+), \1\]   on one processor \1\n", shown["program"])
    assert "37,502,500    0  50,005,000" in shown["program"]
    assert "25,005,000    0  50,005,000" in shown["balanced"]
    assert shown["model"].startswith("close pairs(n) = ")
    assert shown["predict"].count("outside of the measured range") == 1
    chosen = re.findall(r"points: (\w+)", shown["library"])
    assert (chosen[0], chosen[-1]) == ("by_pairs", "by_sorting")
    assert shown["library-call"] == "True True\n"
    assert re.search(r"the time depends on: (?:lower|upper)", shown["gains"])  # a busy computer may hide the effect
    assert "the same result: True" in shown["balanced"]
    for one in ("program", "model-plot", "balanced"):
        assert PICTURE in shown[one]
