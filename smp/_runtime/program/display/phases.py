"""The phases of a run as states of its processors, which `state_graph` draws.

copy-in │ wait │ compute │ wait │ copy-out │ wait        each wait is the part of its phase at the barrier
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..records.states import STATE

WAIT = "wait"


def phase_states(spans: NDArray[np.void]) -> NDArray[np.void]:
    """Return the rows of a timeline as rows of states: two for each phase, of which the second is its wait."""
    found = np.zeros((len(spans), 2), STATE)
    found["rank"] = spans["rank"][:, None]
    found["state"][:, 0] = [phase.replace("_", "-") for phase in spans["phase"].tolist()]
    found["state"][:, 1] = WAIT
    found["start"][:, 0], found["end"][:, 1] = spans["start"], spans["end"]
    found["end"][:, 0] = found["start"][:, 1] = spans["end"] - spans["waited"]
    return found.reshape(-1)
