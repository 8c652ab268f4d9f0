"""A value passes through all streams in every arrangement, and the tables and the plot show the numbers."""

import json
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.reports import section_text, summed_up
from support.shapes import assert_same_keys, measured

import smp
from smp._runtime.memory.cells import Cells
from smp.microbench.method.plan import Plan
from smp.microbench.sections.chain import probe
from smp.microbench.sections.chain.probe import CHAINED, MASS, PACKED, WORK, Effort, Task, program, visit
from smp.microbench.sections.waking.loops import SHARED_WORDS

PLAN = Plan("quick", (1,), 7, 64)


@pytest.fixture(scope="module")
def machine() -> Any:
    with smp.host(1, pin=False) as opened:
        yield opened


def walking(proc: smp.Processor, words: smp.GlobalArray, cells: Cells, how: str, streams: int) -> list[Any]:
    """Make a visit, and return the states of all cells before the last of them is emptied again."""
    found: list[Any] = []
    purge = cells.purge

    def look_and_purge(i: int, value: Any = 0) -> int:
        found.append((i, [cells.peek(k) for k in range(len(cells))]))
        return purge(i, value)

    cells.purge = look_and_purge  # type: ignore[method-assign]
    with proc.streams(streams) as pool:
        window = visit(proc, pool, words, cells, Task(how, 2, streams), 3, 20.0)
    return [*found[0], window]


@pytest.mark.parametrize("streams", [1, 2, 6])
@pytest.mark.parametrize("retries", [0, 1024])
def test_the_value_passes_through_every_stream(machine: smp.Machine, streams: int, retries: int) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    for how in (MASS, CHAINED, PACKED):
        cells = machine.cells(streams + 1, padded=how != PACKED, retries=retries)
        purged, states, window = machine.run(walking, words, cells, how, streams).results[0]
        last = 0 if how == MASS else streams
        assert purged == last
        # each stream has added one to the 1 of the main thread, and only the last cell is full
        assert [i for i, (full, _) in enumerate(states) if full] == [last]
        assert states[last][1] == 1 + streams
        assert window["operations"].tolist() == [streams]
        assert window["wall_ns"][0] > 0


def test_every_visit_leaves_the_cells_empty(machine: smp.Machine) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    cells = {padded: machine.cells(5, padded=padded, retries=10) for padded in (False, True)}
    order = [Task(how, 0, streams) for how in (PACKED, MASS, CHAINED) for streams in (4, 2)]
    windows = machine.run(program, words, cells, order, 0, 20.0).results[0]
    assert [window["operations"][0] for window in windows] == [4, 2] * 3
    assert not any(one.peek(i)[0] for one in cells.values() for i in range(5))


def test_the_probe_measures_every_arrangement_work_and_number_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.EFFORTS, "quick", Effort(0.01, (MASS, PACKED), (1, 3)))
    section = probe.measure(PLAN, lambda *_: None)
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("chain"))
    keys = [(row["how"], row["work"], row["streams"]) for row in data["rows"]]
    assert keys == [(how, work, k) for how in (MASS, PACKED) for work in WORK for k in (1, 3)]
    samples = section.samples["chain"]
    assert len(samples) == sum(row["windows"] for row in data["rows"])
    for row in data["rows"]:
        mine = samples[(samples["how"] == row["how"]) & (samples["work"] == row["work"])]
        mine = mine[mine["streams"] == row["streams"]]
        assert row["total_ns"] == pytest.approx(row["streams"] * row["ns"])
        assert (mine["traps"] <= row["streams"]).all()
        assert (mine["operations"] == row["streams"]).all()


def row(how: str, work: int, streams: int, ns: float) -> dict[str, Any]:
    about = {"how": how, "work": work, "streams": streams, "total_ns": ns * streams, "ns": ns}
    about |= {"minimum_ns": ns / 2, "p95_ns": 2 * ns}
    return about | {"traps": streams / 2, "retries": 9.0, "windows": 7, "valid": work == 0, "why": ["unstable"]}


def data() -> dict[str, Any]:
    rows = [
        row(how, work, streams, 1000.0 * (k + 1) + 10 * work + streams)
        for k, how in enumerate((MASS, CHAINED, PACKED))
        for work in (0, 200)
        for streams in (1, 60)
    ]
    return {"rows": rows, "limit": 1024, "operations": 21, "cpus": 2, "valid": True, "why": []}


def test_the_tables_have_a_column_for_each_arrangement_and_work() -> None:
    lines = section_text("chain", data()).splitlines()
    share, total = (line.split() for line in lines if line.startswith("     60"))
    assert [cell for cell in share if cell != "!"] == ["60", "1.06", "3.06", "2.06", "4.06", "3.06", "5.06", "30", "30"]
    assert [cell for cell in total if cell != "!"][1:3] == ["63.6", "184"]
    assert share.count("!") == total.count("!") == 3
    assert summed_up("chain", data()) == (
        "Passing on",
        "60 streams, each: one cell 1.06 us, chain 2.06 us, packed chain 3.06 us",
    )


def test_the_figure_has_a_line_for_each_arrangement_and_work() -> None:
    figure = pictures.described("chain", data())["chain"]
    pictures.check(figure)
    assert [panel.title for panel in figure.panels] == ["no work", "200 iterations of work"] * 2
    for panel, expected in zip(figure.panels[1::2], ([3.001, 183.6], [3.001, 3.06]), strict=True):
        np.testing.assert_allclose(pictures.series(panel, "one cell").y, expected)
        assert [one.name for one in panel.series] == ["one cell", "chain", "packed chain"]
        assert panel.x.ticks == [1, 60], "numbers stand where something was measured"
        assert panel.y.unit == "us"


def test_the_title_sums_up_the_numbers() -> None:
    found = data()
    said = "60 streams pass a value along a chain of cells in 1.33 to 1.94 times the time of one cell"
    assert pictures.described("chain", found)["chain"].title == f"{said} (not valid)"
    for one in found["rows"]:
        one["valid"], one["why"] = True, []
    assert pictures.described("chain", found)["chain"].title == said
    alone = data()
    alone["rows"] = [one for one in alone["rows"] if one["how"] == MASS]
    assert pictures.described("chain", alone)["chain"].title.endswith("?"), "there is nothing to compare"
