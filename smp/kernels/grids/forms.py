"""Table of the forms of relaxation: `relax_red_black` in each of its layouts that has a cost in closed form."""

from __future__ import annotations

import math
from functools import partial

from ..costs import Costs
from ..form import Form
from .programs import cost, relax_red_black

ITERATIONS = 16
"""Number of iterations of a relaxation that is measured and predicted."""


def _cost(n: int, p: int, layout: str) -> Costs:
    side = math.isqrt(n)
    return cost(side, side, p, ITERATIONS, layout=layout)


FORMS = {
    layout: Form(f"relaxation, {layout}", relax_red_black, cost=partial(_cost, layout=layout))
    for layout in ("vertical", "horizontal", "square", "shared")
}
"""Forms by the name that `relax` takes as its ``layout``."""
