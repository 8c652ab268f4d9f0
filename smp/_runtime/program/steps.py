"""The record of supersteps: what each processor did in each, and when.

A processor keeps one row of numbers for each superstep it ends (`Recorder`); the run joins the rows of all
processors into the structured array that users see (`STEP`) and into a timeline of phases (`SPAN`).

    began      in_done  in_passed     done  passed       out_done  ended        clock of the seven stamps
      ├─ copy-in ─┤ wait ├── compute ───┤ wait ├─ copy-out ─┤ wait ├
      ├──── copy_in ─────┼────── compute ──────┼───── copy_out ────┤            seconds of STEP

A phase lasts until its barrier lets go: that is the time the machine charges for it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LIMIT = 1_000_000
"""Supersteps that a processor records in one run, at 104 bytes each; further ones are counted only."""

STEP = np.dtype(
    [
        ("step", np.int64),
        ("label", "U32"),
        ("rank", np.int32),
        ("reads", np.int64),
        ("writes", np.int64),
        ("bytes_read", np.int64),
        ("bytes_written", np.int64),
        ("copy_in", np.float64),
        ("compute", np.float64),
        ("copy_out", np.float64),
    ]
)
SPAN = np.dtype(
    [
        ("rank", np.int32),
        ("step", np.int64),
        ("label", "U32"),
        ("phase", "U8"),
        ("start", np.float64),
        ("end", np.float64),
        ("waited", np.float64),
    ]
)
SUMMARY = np.dtype(
    [("step", np.int64), ("label", "U32")]
    + [(name, np.int64) for name in ("hr", "hw", "m", "hr_bytes", "hw_bytes", "m_bytes")]
    + [(name, np.float64) for name in ("copy_in", "compute", "copy_out")]
)
_COLUMNS = 13  # step, label, reads, writes, bytes read, bytes written, and the seven stamps


class Recorder:
    """The rows of one processor in one run."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.labels: dict[str, int] = {}
        self.dropped = 0
        self.going_on: int | None = None  # the superstep that has begun and not ended
        self._rows = array("d")
        self._limit = limit * _COLUMNS

    def add(self, step: int, label: str, counts: Sequence[float], stamps: Sequence[float]) -> None:
        """Record one superstep: four counts and seven stamps."""
        if len(self._rows) >= self._limit:
            self.dropped += 1
            return
        number = self.labels.setdefault(label, len(self.labels))
        self._rows.extend((step, number, *counts, *stamps))

    def packed(self) -> tuple[bytes, list[str], int]:
        """Return what `joined` takes: the rows, the labels, how many supersteps were only counted."""
        return self._rows.tobytes(), list(self.labels), self.dropped


def joined(packs: Sequence[tuple[bytes, list[str], int]]) -> tuple[NDArray[np.void], NDArray[np.void], int]:
    """Join the processors' records.

    Parameters
    ----------
    packs : sequence
        ``Recorder.packed()`` of processor 0, 1, ...

    Returns
    -------
    steps : STEP array
        Ordered by superstep, then rank.
    spans : SPAN array
        Three phases a superstep and processor, in seconds of one clock.
    dropped : int
        The largest number of supersteps that a processor did not record.
    """
    steps, spans = [], []
    for rank, (data, labels, _) in enumerate(packs):
        rows = np.frombuffer(data, np.float64).reshape(-1, _COLUMNS)
        names = np.array([*labels, ""])[rows[:, 1].astype(np.intp)]
        stamps = rows[:, 6:]
        part = np.zeros(len(rows), STEP)
        part["step"], part["label"], part["rank"] = rows[:, 0], names, rank
        for k, field in enumerate(("reads", "writes", "bytes_read", "bytes_written")):
            part[field] = rows[:, 2 + k]
        for k, phase in enumerate(("copy_in", "compute", "copy_out")):
            start, done, passed = stamps[:, 2 * k], stamps[:, 2 * k + 1], stamps[:, 2 * k + 2]
            part[phase] = passed - start
            span = np.zeros(len(rows), SPAN)
            span["rank"], span["step"], span["label"], span["phase"] = rank, rows[:, 0], names, phase
            span["start"], span["end"], span["waited"] = start, passed, passed - done
            spans.append(span)
        steps.append(part)
    all_steps = np.concatenate(steps) if steps else np.zeros(0, STEP)
    all_spans = np.concatenate(spans) if spans else np.zeros(0, SPAN)
    dropped = max((pack[2] for pack in packs), default=0)
    return (
        all_steps[np.lexsort((all_steps["rank"], all_steps["step"]))],
        all_spans[np.lexsort((all_spans["start"], all_spans["rank"]))],
        dropped,
    )


def summary(steps: NDArray[np.void], spans: NDArray[np.void]) -> NDArray[np.void]:
    """Return one row for each superstep: h_r, h_w, M in elements and bytes, and the seconds of its phases.

    A phase takes as long as its slowest processor works, and then the barrier: the shortest wait of any.  So
    processors that come late to a superstep do not lengthen its copy-in.

    Parameters
    ----------
    steps : STEP array
    spans : SPAN array

    Returns
    -------
    SUMMARY array
    """
    numbers, inverse = np.unique(steps["step"], return_inverse=True)
    rows = np.zeros(len(numbers), SUMMARY)
    rows["step"] = numbers
    rows["label"][inverse] = steps["label"]
    for name, total, read, written in (
        ("", "m", "reads", "writes"),
        ("_bytes", "m_bytes", "bytes_read", "bytes_written"),
    ):
        np.maximum.at(rows["hr" + name], inverse, steps[read])
        np.maximum.at(rows["hw" + name], inverse, steps[written])
        np.add.at(rows[total], inverse, steps[read] + steps[written])
    for phase in ("copy_in", "compute", "copy_out"):
        own = spans[spans["phase"] == phase]
        at = np.searchsorted(numbers, own["step"])
        worked, waited = np.zeros(len(numbers)), np.full(len(numbers), np.inf)
        np.maximum.at(worked, at, own["end"] - own["start"] - own["waited"])
        np.minimum.at(waited, at, own["waited"])
        rows[phase] = worked + np.where(np.isfinite(waited), waited, 0.0)
    return rows
