"""A table with each kind of value, as the terminal, CSV and Markdown show it."""

from __future__ import annotations

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._output import delimited, markdown, terminal
from smp._output.table import Bounded, Column, Marked, Part, Table, counted, ratio, share, text

COLUMNS = (
    *(text("kernel"), counted("p"), Column("median of visits", "us", scale=1e-3), Column("array", form="bytes")),
    *(Column("held", form="time"), share("clean"), ratio("Loc"), Column("price", "ns/word", scale=1e9)),
)
ROWS = [
    [Marked("copy|all", why=("unstable", "rare")), 1024, 1234.5678, 49152, 12.34e-6, 0.14234, 0.666, "?"],
    ["triad", Marked(2, "*"), None, 64, None, 1.0, -0.02, Bounded(1.25e-9, -0.5e-9, None)],
]
TABLE = Table("Rates", COLUMNS, ROWS, ("! not valid, 1 of 2", "", "* they take turns"))
PARTS = [Part("Bandwidth", [TABLE, Table(notes=["That is all."])], "Not valid: noise.")]


def test_the_terminal_shows_numbers_in_the_form_of_their_columns() -> None:
    assert terminal.report(PARTS, 100).splitlines() == [
        "Bandwidth ".ljust(100, "-"),
        "",
        "Not valid: noise.",
        "",
        "Rates",
        "                     median",
        "                         of",
        "                     visits                   clean                      price",
        "kernel            p      us   array     held      %    Loc             ns/word",
        "-" * 78,
        "copy|all !  1,024      1.23  48 KiB  12.3 us   14.2   0.67                   ?",
        "triad           2 *       -    64 B        -    100  -0.02  1.25 [-0.50, open]",
        "! not valid, 1 of 2",
        "* they take turns",
        "",
        "That is all.",
    ]


def test_csv_has_every_digit_and_a_unit_in_each_header() -> None:
    block, notes = delimited.report(PARTS).split("\n\n")
    assert notes.splitlines() == ["# Bandwidth", "# Not valid: noise.", "# That is all."]
    lines = block.splitlines()
    assert lines[:2] == ["# Bandwidth: Rates", "# Not valid: noise."]
    assert lines[-2:] == ["# ! not valid, 1 of 2", "# * they take turns"]
    headers, first, second = csv.reader(lines[2:-2])
    assert headers[2:6] == ["median of visits [us]", "array [bytes]", "held [s]", "clean [%]"]
    assert headers[-4:] == ["price [ns/word]", "price low [ns/word]", "price high [ns/word]", "marks"]
    assert first[:2] == ["copy|all", "1024"]
    assert [float(cell) for cell in first[2:7]] == pytest.approx([1.2345678, 49152, 12.34e-6, 14.234, 0.666])
    assert first[7:] == ["?", "", "", "kernel ! unstable, rare"]
    assert second[1:5] == ["2", "", "64", ""]
    assert [float(cell) for cell in second[7:9]] == pytest.approx([1.25, -0.5])
    assert second[9:] == ["", "p *"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_read_back_from_csv_is_the_same(value: float) -> None:
    text = delimited.report([Part("", [Table("", [Column("x", "ns")], [[value]])])])
    assert float(text.splitlines()[1]) == value


def test_the_conversion_to_units_adds_no_digits() -> None:
    table = Table("", [Column("x", "us", scale=1e-3), Column("y", "%", scale=100)], [[13200, 0.07]])
    assert delimited.report([Part("", [table])]).splitlines()[1].startswith("13.2,7.0")


def test_a_value_that_is_not_a_number_is_empty_in_csv() -> None:
    made = delimited.report([Part("", [Table("", [text("a"), Column("x")], [["b", math.nan]])])])
    assert made.splitlines() == ["a,x", "b,"]


def test_markdown_has_the_numbers_of_the_terminal() -> None:
    lines = markdown.report(PARTS).splitlines()
    assert lines[:5] == ["## Bandwidth", "", "**Not valid: noise.**", "", "**Rates**"]
    rows = [
        [cell.strip() for cell in line.replace(r"\|", "/").strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    assert rows[0] == ["kernel", "p", "median of visits (us)", "array", "held", "clean (%)", "Loc", "price (ns/word)"]
    assert rows[1] == ["---", *["---:"] * 7]
    assert rows[2] == ["copy/all !", "1,024", "1.23", "48 KiB", "12.3 us", "14.2", "0.67", "?"]
    assert rows[3] == ["triad", r"2 \*", "-", "64 B", "-", "100", "-0.02", r"1.25 \[-0.50, open\]"]
    assert r"- \* they take turns" in lines


@given(st.integers(24, 90))
def test_no_number_is_lost_on_a_narrow_screen(width: int) -> None:
    """A wide table is folded, and the columns that name its rows are repeated in every part."""
    rows = [[name, p, *(10 * p + k + 0.5 for k in range(9))] for p, name in enumerate(("one", "two"))]
    table = Table("Wide", [text("what"), counted("p"), *(Column(f"c{k}", "ns") for k in range(9))], rows)
    lines = terminal.report([Part("", [table])], width).splitlines()
    assert max(map(len, lines)) <= width
    found = [line.split() for line in lines if line.startswith(("one", "two"))]
    for name, p in (("one", 0), ("two", 1)):
        mine = [line for line in found if line[0] == name]
        assert {line[1] for line in mine} == {str(p)}
        assert [float(cell) for line in mine for cell in line[2:]] == [float(f"{v:.3g}") for v in rows[p][2:]]


def test_long_texts_are_wrapped() -> None:
    said = "a sentence that is longer than the screen is wide by far"
    lines = terminal.report([Part("", [Table("", (text(), text()), [("Name", said)])])], 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == f"Name {said}"
    assert all(line.startswith("      ") for line in lines[1:])


def test_tables_stand_side_by_side_if_there_is_room() -> None:
    left, right = (Table(name, [text("what"), Column("x")], [["a", 1.0], ["b", 2.0]]) for name in ("Left", "Right"))
    part = Part("", [left, Table(right.title, right.columns, right.rows, beside=1)])
    assert terminal.report([part], 60).splitlines()[0].split() == ["Left", "Right"]
    assert "Right" not in terminal.report([part], 20).splitlines()[0]
