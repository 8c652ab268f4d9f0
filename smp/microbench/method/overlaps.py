"""Find the windows of two or more processors during which all processors ran at the same time.

    processor 0   |--w--|--w--|--w--|--w--|
    processor 1         |--w--|--w--| off |--w--|
    overlap          0     1     1     0           1 = all processors ran during the whole window

Each processor runs windows for a fixed time and stamps them with the one clock of the computer. A window
counts only if all partners ran inside windows of their own. A partner that is off the CPU in the middle of
its window did not run. The median is quoted, since the minimum would come from a window in which a partner slept.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .windows import LIMITS, WINDOW, Flag, Limits, MeasurementError, Windows, flags

SPAN = np.dtype([("start", "i8"), ("end", "i8"), ("cpu_ns", "i8"), ("operations", "i8")])
"""A stamped window: start and end in ns of CLOCK_MONOTONIC, CPU time, and operations. These are four int64, so a
compiled loop can fill an int64 array ``rows`` of shape (n, 4), which ``rows.view(SPAN)[:, 0]`` then reads."""


def overlap(
    spans: Sequence[NDArray[np.void]], running: Sequence[NDArray[np.bool_]] | None = None
) -> list[NDArray[np.float64]]:
    """Return for each window the fraction of its time during which all processors ran.

    Parameters
    ----------
    spans : sequence of ndarray of SPAN
        One array for each processor, in the order of time; no window overlaps the next.
    running : sequence of ndarray of bool, optional
        True for each window that its processor really spent on the CPU; by default all are.

    Returns
    -------
    list of ndarray of float64
        One fraction for each window of `spans`; 0 for a window of no length.

    Raises
    ------
    MeasurementError
        When a processor's windows are out of order or run into one another.

    Notes
    -----
    The cost is that of sorting all stamps.
    """
    for rank, one in enumerate(spans):
        times = np.stack([one["start"], one["end"]], axis=1).ravel()
        if (np.diff(times) < 0).any():
            raise MeasurementError(
                f"the windows of processor {rank} are out of order or run into one another: "
                "stamp each with the clock before and after it, and pass them as they were taken"
            )
    masks = [np.ones(one.size, np.bool_) for one in spans] if running is None else running
    starts = np.concatenate([one["start"][mask] for one, mask in zip(spans, masks, strict=True)])
    ends = np.concatenate([one["end"][mask] for one, mask in zip(spans, masks, strict=True)])
    if starts.size == 0:
        return [np.zeros(one.size) for one in spans]

    # sweep over all stamps: count the processors that run between each stamp and the next
    stamps = np.concatenate([starts, ends])
    order = np.argsort(stamps, kind="stable")
    stamps = stamps[order]
    active = np.cumsum(np.repeat([1, -1], starts.size)[order])
    together = np.concatenate([[0], np.cumsum(np.diff(stamps) * (active[:-1] == len(spans)))])

    def up_to(times: NDArray[np.int64]) -> NDArray[np.float64]:
        # relative to the first stamp, so that float64 holds every ns
        return np.asarray(np.interp(times - stamps[0], stamps - stamps[0], together), np.float64)

    return [(up_to(one["end"]) - up_to(one["start"])) / np.maximum(one["end"] - one["start"], 1) for one in spans]


def together(
    spans: Sequence[NDArray[np.void]],
    timer_ns: float,
    round: int = 0,
    stolen_ns: int = 0,
    limits: Limits = LIMITS,
) -> Windows:
    """Make windows from the spans of processors, and flag those during which the processors did not run together.

    Parameters
    ----------
    spans : sequence of ndarray of SPAN
        One array for each processor.
    timer_ns : float
        Time that an empty window shows, in ns.
    round : int
        Number of this run among several; the windows of all may be joined by ``np.concatenate``.
    stolen_ns : int
        Time that the hypervisor took during the run, in ns.
    limits : Limits

    Returns
    -------
    ndarray of WINDOW, shape (total number of windows,)
        Windows, those of processor 0 first. Pass them to `result.summarise` with ``quote="median"``.
    """
    made = []
    for rank, one in enumerate(spans):
        windows = np.zeros(one.size, WINDOW)
        windows["round"], windows["rank"] = round, rank
        windows["wall_ns"] = one["end"] - one["start"]
        windows["cpu_ns"], windows["operations"] = one["cpu_ns"], one["operations"]
        windows["timer_ns"], windows["stolen_ns"] = timer_ns, stolen_ns
        windows["before_GHz"] = windows["after_GHz"] = np.nan
        windows["overlap"] = 1.0
        windows["flags"] = flags(windows, limits=limits)
        made.append(windows)
    running = [windows["flags"] & Flag.DESCHEDULED == 0 for windows in made]
    for windows, fraction in zip(made, overlap(spans, running), strict=True):
        windows["overlap"] = fraction
        windows["flags"] = flags(windows, limits=limits)
    return np.concatenate(made)
