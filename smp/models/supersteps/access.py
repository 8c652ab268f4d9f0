"""Cost functions of the SMP cost study for a family of access patterns: fitted on one suite, validated on the others.

    family    fitted on   sets             functions
    good      suite 1     R0, R1, all      H, HM, HrHw, HrHwM-c
    bad       suite 2     all              H, HM, HrHw, HrHwM

The set R0 holds the supersteps whose h fits a processor's own cache, R1 the rest (SMP study, section 4.2). Here h is
the larger of h_r and h_w, the most words that any processor reads and writes. The functions are in `cost`, the suites
in `suites`, the study's tables in `published`; all can be imported from here. The functions that predict a machine's
costs are chosen in `forms`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smp.errors import FitError

from .._types import FloatArray
from ..fit.linear import Fit, fit
from .cost import columns, matrix_of, predict, split
from .knees import SPARE, find_knees, terms_for
from .measured import Measured
from .published import PAPER_ERRORS, paper_errors
from .suites import H0, H1, H2, T_MAX, Pattern, sizes, suite

__all__ = [
    "FIT_SUITE",
    "FUNCTIONS",
    "H0",
    "H1",
    "H2",
    "PAPER_ERRORS",
    "T_MAX",
    "Measured",
    "Pattern",
    "columns",
    "fit_family",
    "paper_errors",
    "predict",
    "sizes",
    "suite",
]

FUNCTIONS = {
    "good": ("H", "HM", "HrHw", "HrHwM-c"),
    "bad": ("H", "HM", "HrHw", "HrHwM"),
}
FIT_SUITE = {"good": 1, "bad": 2}

Row = dict[str, Any]  # a row of a profile's JSON


class _Fitted(NamedTuple):
    """A fit, and the knees that were found in its data, or None if none were looked for."""

    fit: Fit
    knees: tuple[float, ...] | None


def fit_family(
    family: str,
    p: int,
    suites: Mapping[int, Measured],
    tiers: Sequence[float] = (),
    *,
    private: float | None = None,
) -> tuple[list[Row], list[Row]]:
    """Fit the cost functions of a family on one suite and validate them on the others.

    If the usual suite leaves more terms unidentified than suite 3 does, suite 3 is fitted instead. This happens with
    one processor, whose reads equal its writes throughout suites 1 and 2. With one processor M is h_r + h_w in every
    superstep, so HrHwM and HrHwM-c have no term for M.

    Parameters
    ----------
    family : {"good", "bad"}
    p : int
        Number of processors.
    suites : mapping of suite number to Measured
    tiers : sequence of float
        The knees of HrHwM-c in words, ascending, and infinity. By default they are found in the data.
    private : float, optional
        Words that the largest cache of a processor's own holds. Default: the largest finite tier.

    Returns
    -------
    functions : list of dict
        ``family, p, name, set, fit_suite, terms, coefficients, low, high, unidentified, condition,
        count, h_range``, and ``knees`` if they were found in the data, all plain JSON. Coefficients and their 95%
        intervals are in seconds per word (L: in seconds). None stands for an infinite bound or condition.
        ``low = high = 0`` marks a term that the sign constraint holds at zero.
    validation : list of dict
        ``family, p, name, set, suite, average, maximum, count``: errors relative to the measured times,
        on the suites that the function was not fitted on (the paper's tables 5 to 8).

    Raises
    ------
    FitError
        An unknown family, no measurements of the suite to fit on, or numbers that cannot be fitted.

    Notes
    -----
    A set with fewer than k + 2 supersteps of the usual suite, for k terms, is left out. This can happen
    if few sizes, or none, are above a cache.
    """
    if family not in FUNCTIONS:
        raise FitError(f"there is no access family {family!r}: choose one of {', '.join(FUNCTIONS)}")
    if FIT_SUITE[family] not in suites:
        raise FitError(
            f"the {family} family is fitted on suite {FIT_SUITE[family]}, but only suites "
            f"{sorted(suites)} were measured: measure it too"
        )
    functions: list[Row] = []
    validation: list[Row] = []
    for label, (over, up_to) in _sets(family, tiers, private).items():
        parts = {number: s.where((s.h > over) & (s.h <= up_to)) for number, s in suites.items()}
        for name in FUNCTIONS[family]:
            number, model = FIT_SUITE[family], _fit(name, p, parts[FIT_SUITE[family]], tiers, label)
            if model is None:
                continue
            if model.fit.unidentified and 3 in parts:
                other = _fit(name, p, parts[3], tiers, label)
                if other is not None and len(other.fit.unidentified) < len(model.fit.unidentified):
                    number, model = 3, other
            head: Row = {"family": family, "p": p, "name": name, "set": label}
            functions.append({**head, "fit_suite": number, **_function(model, parts[number].h)})
            validation += [
                {**head, "suite": against, **_errors(functions[-1], part, tiers)}
                for against, part in sorted(parts.items())
                if against != number and len(part.seconds)
            ]
    return functions, validation


def _sets(family: str, tiers: Sequence[float], private: float | None) -> dict[str, tuple[float, float]]:
    everything = {"all": (-np.inf, np.inf)}
    edge = private if private is not None else max((c for c in tiers if np.isfinite(c)), default=None)
    if family != "good" or edge is None:
        return everything
    return {"R0": (-np.inf, edge), "R1": (edge, np.inf), **everything}


def _fit(name: str, p: int, part: Measured, tiers: Sequence[float], label: str) -> _Fitted | None:
    own = find_knees(name, p, part) if split(name) and not len(tiers) else None
    levels = tiers if own is None else (*own, np.inf)
    reached = 1 + sum(c < part.h.max(initial=0.0) for c in levels[:-1])
    terms = terms_for(name, p, reached)
    if len(part.seconds) < len(terms) + SPARE:
        return None
    # A negative cost of an access makes no sense: more accesses would be cheaper. Nor does a negative L if small
    # supersteps are in the set, since L is the cost of an empty one. In R1, L is only the offset of a line far from
    # zero. It is below zero when accesses in cache cost less than those beyond, as in the paper's tables 1 and 2.
    # Forcing it up would tilt the slopes, and `predict` stops at zero.
    signs = [term != "L" or label != "R1" for term in terms]
    matrix = matrix_of(terms, part.hr, part.hw, part.m, levels, part.others)
    return _Fitted(fit(matrix, part.seconds, terms, signs), own)


def _function(fitted: _Fitted, h: FloatArray) -> Row:
    model, knees = fitted
    return {
        **({} if knees is None else {"knees": list(knees)}),
        "terms": list(model.terms),
        "coefficients": model.coefficients.tolist(),
        "low": [_finite(v) for v in model.low],
        "high": [_finite(v) for v in model.high],
        "unidentified": list(model.unidentified),
        "condition": _finite(model.condition),
        "count": model.count,
        "h_range": [float(h.min()), float(h.max())],
    }


def _errors(function: Row, part: Measured, tiers: Sequence[float]) -> Row:
    off = np.abs(predict(function, part.hr, part.hw, part.m, tiers, part.others) - part.seconds) / part.seconds
    return {"average": float(off.mean()), "maximum": float(off.max()), "count": len(off)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
