"""The tables, the line of the first screen, the figures, and the comparison show made-up times of messages."""

from typing import Any

import numpy as np
import pytest
from support import pictures
from support.reports import cells, section_text, summed_up

from smp.microbench.method.windows import WINDOW
from smp.microbench.output import cm5
from smp.microbench.sections.messages.facts import compared
from smp.microbench.sections.messages.rows import Messages


def row(what: str, ns: float, floor: str, below: float, **more: Any) -> dict[str, Any]:
    about = {"what": what, "processors": 2, "ns": ns, "cycles": 3 * ns, "minimum_ns": 0.9 * ns, "p95_ns": 1.5 * ns}
    ratio = {"ratio": ns / below, "ratio_low": 0.9 * ns / below, "ratio_high": 1.2 * ns / below, "pairs": 40}
    return {**about, "windows": 50, "floor": floor, "floor_ns": below, **ratio, "valid": True, "why": [], **more}


def data(with_mpi: bool) -> dict[str, Any]:
    rows = [
        row("trip", 480, "line", 400),
        row("poll", 1.25, "addition", 5, senders=2),
        row("request", 6000, "trip", 480, over_mpi=2.0 if with_mpi else None, valid=False, why=["unstable"]),
        row("barrier", 2000, "compiled barrier", 250, over_mpi=0.5 if with_mpi else None),
    ]
    for k, what in enumerate(("reduce", "transpose"), 1):
        rows += [
            row(what, 4000 * k, "barrier", 2000, words=8, over_mpi=1.5 * k if with_mpi else None),
            row(what, 900_000 * k, "copy", 300_000, words=1_000_000, over_mpi=0.75 * k if with_mpi else None),
        ]
    for k, what in enumerate(("block", "block both ways"), 1):
        rows.append(row(what, 400 * k, "copy", 200, words=512, over_mpi=0.5 * k if with_mpi else None))
    kept = ("what", "processors", "words", "minimum_ns", "p95_ns", "windows", "valid")
    theirs = [
        {"ns": each["ns"] / each["over_mpi"], **{key: each[key] for key in kept if key in each}}
        for each in rows
        if each.get("over_mpi")
    ]
    library, why = ("MPICH 5.0.2", "") if with_mpi else (None, "mpi4py is not installed")
    return {"rows": rows, "mpi": theirs, "library": library, "no_mpi": why, "valid": True, "why": []}


def test_the_first_table_has_operations_next_to_their_floors_and_the_cm5() -> None:
    text = section_text("messages", data(True), 120)
    line = ["2", "480", "line round trip", "400", "1.20", "1.08", "1.44", "12,247"]
    assert cells(text, "packet round trip") == [line]
    line = ["2", "1.25", "fetch-add", "5.00", "0.250", "0.225", "0.300", "667"]
    assert cells(text, "poll in vain, 2 senders") == [line]
    assert cells(text, "request and reply, Python !")[0][:2] == ["2", "6,000"]
    assert cells(text, "MPI Send and Recv !") == [["2", "3,000", "2.00"]]
    assert cells(text, "MPI Barrier") == [["2", "4,000", "0.500"]]
    assert "MPI: MPICH 5.0.2" in text
    assert "of 40 pairs of neighbouring bursts" in text
    assert "! not valid, 1 of 4: unstable" in text


def test_rows_say_that_mpi_is_not_installed() -> None:
    text = section_text("messages", data(False), 120)
    assert cells(text, "MPI Send and Recv") == cells(text, "MPI Barrier") == [["2", "not installed"]]
    assert "MPI: mpi4py is not installed" in text
    assert "The same over MPI's time" not in text


def test_tables_of_vectors_have_a_line_for_each_size() -> None:
    text = section_text("messages", data(True), 120)
    short, long = cells(text, "8"), cells(text, "1,000,000")
    assert short == [
        ["4.00", "8.00", "barrier", "2.00"],
        ["2.00 [1.8, 2.4]", "4.00 [3.6, 4.8]"],
        ["1.50", "3.00"],
    ]
    assert long == [
        ["900", "1,800", "copy", "300"],
        ["3.00 [2.7, 3.6]", "6.00 [5.4, 7.2]"],
        ["0.75", "1.50"],
    ]


@pytest.mark.parametrize("with_mpi", [False, True])
def test_blocks_are_shown_by_their_speed_next_to_a_copy_and_to_mpi(with_mpi: bool) -> None:
    text = section_text("messages", data(with_mpi), 120)
    theirs = [["5.12", "2.00"], ["5.12", "1.00"]] if with_mpi else [[], []]
    assert cells(text, "block") == [["4", "10.2", "20.5", "0.500", "0.417", "0.556", *theirs[0]]]
    assert cells(text, "block each way at once") == [["4", "5.12", "20.5", "0.250", "0.208", "0.278", *theirs[1]]]
    assert ("MPI: Send and Recv for a block" in text) == with_mpi


def test_the_line_of_the_first_screen() -> None:
    heading, text = summed_up("messages", data(True))
    assert heading == "Messages"
    assert text == (
        "a packet there and back in 480 ns, 1.20 times a line; request and reply from Python in 6.00 us; "
        "reduce of 1,000,000 words in 900 us, 3.00 times a copy"
    )
    alone = {**data(False), "rows": [row("poll", 1.25, "addition", 5, senders=2, processors=1)]}
    assert summed_up("messages", alone) == ("", "")


def test_published_times_are_cycles_of_33_mhz() -> None:
    assert cm5.BARRIER.ns == pytest.approx(140 * 30.3)
    assert abs(cm5.CYCLE_NS - 1e3 / 33) < 0.01
    text = " ".join(section_text("messages", data(True), 120).split())
    assert "reduce 4.54 us for a word (150 cycles), 110.1 + 47.5 cycles for each word of a vector" in text
    assert "broadcast 2.73 us (90 cycles), 49 cycles for each word of a vector" in text


@pytest.mark.parametrize("with_mpi", [False, True])
def test_the_figures_show_the_rows(with_mpi: bool) -> None:
    made = pictures.described("messages", data(with_mpi))
    assert list(made) == ["messages-costs", "messages-collectives"]
    costs, collectives = made.values()
    for figure in made.values():
        pictures.check(figure)
    (panel,) = costs.panels
    assert costs.title == "A packet goes there and back in 1.20 times the time of a cache line"
    assert pictures.points(panel, "measured") == [[480, 0], [1.25, 1], [6000, 2], [2000, 3]]
    assert pictures.points(panel, "its floor") == [[400, 0], [5, 1], [480, 2], [250, 3]]
    assert pictures.series(panel, "measured").invalid == ["", "", "unstable", ""]
    assert pictures.points(panel, "CM-5")[1] == [22 * 30.3, 1]
    assert ("by MPI" in [one.name for one in panel.series]) == with_mpi
    times, *over = collectives.panels
    assert pictures.points(times, "reduce") == [[8, 4], [1_000_000, 900]]
    assert pictures.points(times, "floor: barrier") == [[8, 2]]
    assert pictures.points(times, "floor: copy") == [[1_000_000, 300]]
    assert collectives.title == "A reduce of 1,000,000 words takes 3.00 times as long as a copy"
    assert len(over) == with_mpi
    if with_mpi:
        assert [line.y for line in over[0].series] == [[1.5, 0.75], [3.0, 1.5]]


def test_a_machine_of_one_processor_has_polls_only() -> None:
    alone = {**data(False), "rows": [row("poll", 1.25, "addition", 5, senders=2, processors=1)]}
    assert list(pictures.described("messages", alone)) == ["messages-costs"]
    text = section_text("messages", alone, 120)
    assert cells(text, "poll in vain, 2 senders")[0][0] == "1"
    assert "vectors" not in text


def test_two_machines_are_compared_by_every_operation() -> None:
    found = Messages.model_validate(data(True))
    stored = np.zeros(4, [("side", "U9"), ("what", "U16"), ("processors", "i4"), ("size", "i8"), *WINDOW.descr])
    stored["what"], stored["processors"], stored["operations"] = "reduce", 2, 1
    stored["side"], stored["size"] = ["operation", "operation", "floor", "operation"], [8, 8, 8, 1_000_000]
    stored["round"], stored["wall_ns"] = [0, 1, 0, 0], [1000, 1210, 9999, 9999]
    figures = {figure.what: figure for figure in compared(found, {"messages": stored})}
    assert len(figures) == len(found.rows)
    assert figures["poll in vain, 2 senders, p = 2"].value == 1.25
    assert not figures["request and reply, Python, p = 2"].valid
    spread = figures["reduce of 8 words, p = 2"].spread
    assert spread is not None
    assert spread.error == pytest.approx(np.log(1.1))
