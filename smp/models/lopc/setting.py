"""Setting that `general` solves and `simulate` runs: a machine and its threads' requests, checked once for both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from .node import checked_scalars, checked_times


@dataclass(frozen=True, eq=False)
class Setting:
    """A checked machine and the requests of its threads; all times are in the same unit.

    Attributes
    ----------
    work : ndarray (P,)
        W_c, the work of thread c between two requests; infinite for a node without a thread.
    visits : ndarray (P, P)
        V_ck, the average visits of a request of thread c at node k; rows of nodes without a thread are zero.
    latency : float
        S_l, the time of each trip through the network.
    occupancy : ndarray (P,)
        S_o, the time of a handler at each node.
    variation : float
        C², the squared coefficient of variation of the handlers' times.
    protocol_processor : bool
        True if handlers run on hardware of their own while the thread continues its work.
    """

    work: FloatArray
    visits: FloatArray
    latency: float
    occupancy: FloatArray
    variation: float
    protocol_processor: bool

    @property
    def threads(self) -> NDArray[np.intp]:
        """Numbers of the nodes that have a thread."""
        return np.flatnonzero(np.isfinite(self.work))

    @property
    def logp(self) -> FloatArray:
        """R_c without contention, (P,): the cycle's time by LogP; infinite for a node without a thread."""
        return self.work + self.visits @ (self.latency + self.occupancy) + self.latency + self.occupancy


def checked_setting(
    work: ArrayLike,
    visits: ArrayLike,
    latency: float,
    occupancy: ArrayLike,
    variation: float,
    protocol_processor: bool,
) -> Setting:
    """Return the arguments of `general` as a checked `Setting`; raises as `general` does."""
    w, v = np.array(work, dtype=np.float64), np.array(visits, dtype=np.float64)
    if w.ndim != 1 or not w.size or v.shape != (w.size, w.size):
        raise ValueError(
            f"work of shape {w.shape} and visits of shape {v.shape} do not agree: "
            "give P works and P x P visits, with the visits of thread c in row c"
        )
    if not (w >= 0.0).all():
        raise ValueError(
            f"work[{(~(w >= 0.0)).argmax()}] is negative or NaN: give a time, or inf for a node without a thread"
        )
    there = np.isfinite(w)
    v[~there] = 0.0
    checked_times(visits=v)
    s_l, c2 = checked_scalars(latency=latency, variation=variation)
    s_o = checked_times(occupancy=occupancy)["occupancy"]
    if s_o.shape not in ((), w.shape):
        raise ValueError(
            f"occupancy has shape {s_o.shape} for {w.size} nodes: give one value for all nodes or one for each"
        )
    setting = Setting(w, v, s_l, np.broadcast_to(s_o, w.shape).copy(), c2, protocol_processor)
    if not (setting.logp > 0.0).all():
        raise ValueError(
            f"a cycle of thread {setting.logp.argmin()} takes no time, because its work, the latency and the occupancy "
            "of all nodes that it visits are 0: make one of them larger"
        )
    return setting
