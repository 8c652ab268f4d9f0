"""The report of the models of the primitives, after figure 6-6 of Brewer's thesis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.numbers import time
from smp._output.table import Part, Row, Table, counted, share, text
from smp.models.fit.model import Model
from smp.models.fit.records import listed

from ...output import cm5
from .suite import GROUPS

COLUMNS = (
    *(text("primitive"), text("length in"), text("model"), share("error")),
    *(counted("samples"), counted("kept apart")),
)
MEANING = (
    "error: the mean relative error on the samples that were kept apart from the fit: the geometric mean of "
    "1 + error, minus 1; a sample is the least of 3 to 7 runs"
)


def of_suite(name: str, found: dict[str, Any]) -> Part:
    """Return the part of the report on the models of a suite, which may be of an earlier list of primitives."""
    return Part(f"Models of the primitives: {name}", list(_tables(found["models"])))


def readable(model: Model) -> str:
    """Return the formula of a model with units, such as ``0.42 us + 0.61 ns * length``."""
    made = ""
    for c, term in zip(model.coefficients.tolist(), model.terms.values(), strict=True):
        sign = " - " if c < 0 else " + "
        made += f"{sign if made else sign.strip(' +')}{time(abs(c))}{'' if term.text == '1' else f' * {term.shown}'}"
    return made


def _tables(found: dict[str, Any]) -> Iterator[Table]:
    models = {name: Model.from_json(each) for name, each in found.items()}
    known = {each.name: each for group in GROUPS.values() for each in group}
    groups = {title: [each.name for each in group if each.name in models] for title, group in GROUPS.items()}
    groups["other"] = [name for name in models if name not in known]
    for title, names in groups.items():
        rows: list[Row] = [
            [
                name,
                known[name].unit if name in known else "",
                readable(models[name]),
                models[name].quality.mre,
                models[name].quality.count + models[name].quality.verified,
                models[name].quality.verified,
            ]
            for name in names
        ]
        if rows:
            yield Table(title, COLUMNS, rows)
    places = sorted({f"p = {given.text}" for model in models.values() for given in model.inputs if given.name == "p"})
    yield Table(notes=[MEANING, f"processors: {', '.join(places)}" if places else ""])
    if any(model.dropped for model in models.values()):
        yield Table(notes=[f"{name}: {listed(model.dropped)}" for name, model in models.items() if model.dropped])
    published: list[Row] = [[name, each.published] for name, each in known.items() if name in models and each.published]
    if published:
        yield Table(
            f"Published for the {cm5.MACHINE}, in cycles of {cm5.CYCLE_NS} ns; a word has 4 bytes there, and 8 here",
            (text("primitive"), text("cycles")),
            published,
        )
