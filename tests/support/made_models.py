"""Models with given coefficients, as if they had been calibrated without noise."""

from __future__ import annotations

import numpy as np

from smp.models.fit.inputs import parsed
from smp.models.fit.model import Model, Quality
from smp.models.fit.specification import expressions_of


def made_model(coefficients: dict[str, float], inputs: dict[str, str], mre: float = 0.0, name: str = "made") -> Model:
    """Return a model of these terms with the given error."""
    names, k = tuple(inputs), len(coefficients)
    return Model(
        *(name, parsed(inputs), {text: expressions_of([text], names)[text] for text in coefficients}),
        *(np.array(list(coefficients.values())), np.zeros((k, k)), 0.01, 20, ""),
        Quality(count=30, verified=20, r_squared=1.0, mre_fit=mre, mre=mre, worst=mre),
    )
