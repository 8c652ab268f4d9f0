"""Models that were calibrated on an emulated machine next to printed ones with the same terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import smp

from ..rows import Row, near

CARRIES = 0.05
"""Part of the time from which on a coefficient matters."""
POINT = 1.0
"""Percent by which the mean relative error may be larger than the printed one."""


@dataclass(frozen=True)
class Printed:
    """A printed model: coefficients by term, and the mean relative error in percent."""

    coefficients: dict[str, float]
    mre: float


def compared(
    name: str,
    model: smp.Model,
    specification: smp.Specification,
    printed: Printed,
    scale: float,
    unit: str,
    kind: str,
) -> list[Row]:
    """Return a row for each coefficient, and one for the mean relative error.

    A coefficient is multiplied by ``scale``; without a demand if the printed term carries little of the time.
    """
    ours = dict(zip(model.terms, model.coefficients * scale, strict=True))
    shares = shares_of(printed, specification, model)
    rows = []
    for term, coefficient in printed.coefficients.items():
        of_kind = kind if shares[term] > CARRIES else "shown"
        rows.append(near("", f"{name}: {term}", coefficient, float(ours.pop(term, 0.0)), unit, of_kind, 0.10))
    rows += [Row("", f"{name}: {term}, not printed", 0.0, float(one), unit, "shown") for term, one in ours.items()]
    error = 100 * model.quality.mre
    return [*rows, Row("", f"{name}: MRE", printed.mre, error, "%", kind, high=printed.mre + POINT)]


def shares_of(printed: Printed, specification: smp.Specification, model: smp.Model) -> dict[str, float]:
    """Return the part of the printed model that each of its terms carries, on average over our samples."""
    assert model.samples is not None
    parts = {
        term: coefficient * specification.expressions[term].of(model.samples.inputs)
        for term, coefficient in printed.coefficients.items()
    }
    whole = sum(parts.values())
    return {term: float(np.mean(np.abs(part / whole))) for term, part in parts.items()}
