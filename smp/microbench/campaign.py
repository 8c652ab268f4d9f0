"""The whole measurement: one section after another, into a profile, whatever ends it.

Each section is measured by a probe; Ctrl-C ends the campaign with the sections that are there, and with the part of
the one under way that makes sense by itself (`Stopped`).
"""

from __future__ import annotations

import datetime
import importlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProfileError
from .conditions import machine, moment
from .cpus import caches, line_bytes
from .plan import MODES, Plan, Section, Stopped
from .profile import FORMAT, VERSION, Profile
from .system import Stolen

SECTIONS = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "synchronisation": "synchronisation",
    "access": "access_patterns",
    "lists": "lists",
    "sorting": "sorting",
    "stencil": "stencil",
    "instruction": "instruction",
    "retries": "retries",
    "waking": "waking",
    "chain": "chain",
    "threads": "threads",
    "outstanding": "outstanding",
    "polling": "polling",
    "fine": "fine_lists",
}
"""Section of the profile -> module of probes/, in the order they are measured."""
PREDICTED = ("lists", "sorting", "stencil")
"""Sections that set whole programs against the cost functions that have been fitted."""

_EACH = {
    "latency": (5, 28, 120),
    "bandwidth": (3, 14, 60),
    "synchronisation": (2, 10, 40),
    "access": (9, 78, 600),
    "lists": (6, 30, 120),
    "sorting": (2, 12, 25),
    "stencil": (2, 12, 60),
    "instruction": (0.7, 4, 20),
    "retries": (0.3, 1, 5),
    "waking": (0.5, 3, 20),
    "chain": (0.6, 3, 20),
    "threads": (0.7, 3, 20),
    "outstanding": (1.5, 8, 40),
    "polling": (1, 5, 20),
    "fine": (1.5, 8, 60),
}
SECONDS = {mode: {name: seconds[k] for name, seconds in _EACH.items()} for k, mode in enumerate(MODES)}
"""About how long each takes on two CPUs; for the progress bar."""

Progress = Callable[[float, str], None]
Samples = dict[str, NDArray[Any]]


def make_plan(mode: str, processors: Sequence[int], seed: int) -> Plan:
    """Plan for this machine."""
    return Plan(mode, tuple(processors), seed, line_bytes(), 8, tuple(caches()))


class Campaign:
    """A measurement under way and what it has measured so far.

    Parameters
    ----------
    plan : Plan
    base : Profile, optional
        A saved profile that is added to; its sections stand where they are not measured again.

    Attributes
    ----------
    profile : Profile
    samples : dict of str to ndarray
    """

    def __init__(self, plan: Plan, base: Profile | None = None) -> None:
        from .. import __version__

        self.plan = plan
        self.samples: Samples = {}
        self._began, self._stolen = time.monotonic(), Stolen()
        data: dict[str, Any] = {} if base is None else dict(base.data)
        data |= {
            "format": FORMAT,
            "version": VERSION,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "smp": __version__,
            "machine": machine(),
            "conditions": {
                "mode": plan.mode,
                "seed": plan.seed,
                "processors": list(plan.processors),
                "load_before": moment()["load"],
                "interrupted": False,
            },
            "samples": "samples.npz",
        }
        self.profile = Profile(data)

    def measure(self, sections: Sequence[str], progress: Progress) -> None:
        """Measure sections, in their order.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the profile holds what was measured.
        """
        seconds = SECONDS[self.plan.mode]
        whole = float(sum(seconds[name] for name in sections))
        before = 0.0
        try:
            for name in [known for known in SECTIONS if known in sections]:
                start, share = before, seconds[name]

                def tick(done: float, text: str, start: float = start, share: float = share) -> None:
                    progress((start + share * min(done, 1.0)) / whole, text)

                tick(0.0, name)
                self._add(name, self._probe(name)(tick))
                before += share
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, Stopped):
                self._add(interrupt.name, interrupt.section)
            self.profile.data["conditions"]["interrupted"] = True
            raise
        finally:
            self._close_conditions()

    def _probe(self, name: str) -> Callable[[Callable[[float, str], None]], Section]:
        module = importlib.import_module(f".probes.{SECTIONS[name]}", __package__)
        if name in PREDICTED:
            return lambda tick: module.measure(self.plan, tick, self._fitted())
        return lambda tick: module.measure(self.plan, tick)

    def _fitted(self) -> Profile | None:
        """The profile whose cost functions predict: this one, else the last of this machine that has some."""
        if (self.profile.data.get("access") or {}).get("functions"):
            return self.profile
        try:
            return Profile.find()
        except ProfileError:
            return None

    def _add(self, name: str, section: Section) -> None:
        self.profile.data[name] = section.data
        self.samples |= section.samples

    def _close_conditions(self) -> None:
        fractions = [
            self.profile.data[name]["clean_fraction"]
            for name in SECTIONS
            if (self.profile.data.get(name) or {}).get("clean_fraction") is not None
        ]
        self.profile.data["conditions"] |= {
            "seconds": round(time.monotonic() - self._began, 1),
            "stolen_fraction": self._stolen.fraction(),
            "clean_fraction": float(np.mean(fractions)) if fractions else None,
        }

    def save(self, folder: Path) -> list[Path]:
        """Write ``profile.json`` and ``samples.npz``, whole or not at all; keep it for `Profile.find`."""
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".samples.{os.getpid()}.npz"
        try:
            np.savez_compressed(beside, **self.samples)  # type: ignore[arg-type]  # its stub has no such keywords
            beside.replace(folder / "samples.npz")
        finally:
            beside.unlink(missing_ok=True)
        self.profile.save(folder / "profile.json")
        if (self.profile.data.get("access") or {}).get("functions"):
            Profile(self.profile.data).keep()
        return [folder / "profile.json", folder / "samples.npz"]
