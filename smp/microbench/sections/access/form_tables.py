"""Tables of the forms of cost function: the error of each form, the chosen form, and the error of that choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smp._output.numbers import count, size
from smp._output.table import Cell, Column, Table, counted, share, text
from smp.profiles.access import Access, Form, Turn

OF_FORMS = (
    "Every form was fitted on the same suite; the form that is best on the two others predicts. N: with the second "
    "largest count of any processor; O: with the sum of all other processors; -c: split at knees, which are taken from "
    "the data."
)
OF_TURNS = (
    "A suite that was not fitted on chooses the form. The error is that on the third suite, which neither fitted nor "
    "chose it."
)


def tables_of_forms(found: Access) -> Iterator[Table]:
    """Yield a table of all forms for each family and p, then one of the errors of the choice."""
    for key in dict.fromkeys((row.p, row.family, row.footprint) for row in found.forms):
        mine = [row for row in found.forms if (row.p, row.family, row.footprint) == key]
        yield _forms(mine, found.word_bytes)
    if found.forms:
        yield Table(notes=[OF_FORMS])
    if found.turns:
        yield _turns(found.turns, found.word_bytes)


def _forms(forms: Sequence[Form], word_bytes: int) -> Table:
    suites = sorted({off.suite for form in forms for off in form.off})
    errors = [share(f"suite {suite} {which}") for suite in suites for which in ("ave.", "max.")]
    rows = []
    for form in forms:
        off = {each.suite: each for each in form.off}
        cells: list[Cell] = [form.name, " ".join(count(knee) for knee in form.knees or ()), len(form.terms)]
        for suite in suites:
            cells += [off[suite].average, off[suite].maximum] if suite in off else [None, None]
        rows.append([*cells, "chosen" if form.chosen else ""])
    first = forms[0]
    title = f"{_title(first, word_bytes)}, p = {first.p}: forms, fitted on suite {first.fit_suite}"
    columns = [text("form"), text("knees, words"), counted("terms"), *errors, text("")]
    return Table(title, columns, rows)


def _turns(turns: Sequence[Turn], word_bytes: int) -> Table:
    columns = (
        *(counted("p"), text("family"), text("form"), counted("chosen by suite"), counted("error on suite")),
        *(Column("average", "%", "fixed", 1, 100.0), Column("largest", "%", "fixed", 1, 100.0), counted("patterns")),
    )
    rows = [
        [row.p, _title(row, word_bytes), row.name, row.chosen_by, row.suite, row.average, row.maximum, row.count]
        for row in turns
    ]
    return Table("Errors of the chosen functions", columns, rows, [OF_TURNS])


def _title(row: Form | Turn, word_bytes: int) -> str:
    return row.family.title() + (f", {size(row.footprint * word_bytes)}" if row.footprint else "")
