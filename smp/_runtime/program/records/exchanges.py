"""Traffic of collectives outside of copies: the record of all processors, and its rows by kind and place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..steps import Packed

EXCHANGE = np.dtype(
    [("phase", "U8"), ("label", "U32"), ("name", "U32"), ("rank", np.int32), ("times", np.int64)]
    + [(name, np.int64) for name in ("reads", "writes", "bytes_read", "bytes_written")]
    + [("seconds", np.float64)]
)


class Moved(NamedTuple):
    """The collectives of one kind in one place.

    Attributes
    ----------
    name, where : str
        Kind of collective, and place: outside of supersteps, or the compute phase of a label.
    times : int
        Number of calls on a processor.
    hr, hw, m : int
        Counts as of a superstep, for all of these collectives together.
    seconds : float
        Seconds of the processor that took the shortest time.  The others also waited for late processors.
    """

    name: str
    where: str
    times: int
    hr: int
    hw: int
    m: int
    seconds: float


def joined_exchanges(packs: Sequence[Packed]) -> NDArray[np.void]:
    """Return the collectives that are in no superstep's counts: a row for each kind, place and processor.

    Parameters
    ----------
    packs : sequence
        Records of processors 0, 1, ...

    Returns
    -------
    EXCHANGE array
    """
    rows = []
    for rank, pack in enumerate(packs):
        for label, name, itemsize, (times, *moved, seconds) in pack.exchanges:
            place = ("outside", "") if label is None else ("compute", label)
            rows.append((*place, name, rank, times, *(-(-each // itemsize) for each in moved), *moved, seconds))
    return np.array(rows, EXCHANGE)


def exchanged(found: NDArray[np.void]) -> list[Moved]:
    """Return a row for each kind and place, in the order in which processor 0 met them."""
    place = ["phase", "label", "name"]
    rows = []
    for key in dict.fromkeys(row.item() for row in found[place]):
        same = found[np.all([found[name] == part for name, part in zip(place, key, strict=True)], axis=0)]
        phase, label, name = key
        by_rank = {each: np.bincount(same["rank"], same[each]) for each in ("times", "reads", "writes", "seconds")}
        rows.append(
            Moved(
                name,
                f"compute of {label!r}" if phase == "compute" else phase,
                int(by_rank["times"].max()),
                int(by_rank["reads"].max()),
                int(by_rank["writes"].max()),
                int((same["reads"] + same["writes"]).sum()),
                float(by_rank["seconds"][np.unique(same["rank"])].min()),
            )
        )
    return rows
