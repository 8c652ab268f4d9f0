"""The whole measurement: one section after another, into a profile, whatever ends it.

Each section is measured by a probe, and saved when it ends.  Until the last has ended the profile says which sections
were asked for and which are done, so that the same command goes on after whatever has ended it, SIGKILL included.
Ctrl-C also leaves the part of the section under way that makes sense by itself (`Stopped`).
"""

from __future__ import annotations

import datetime
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._computer import version
from .._computer.cpus import caches, line_bytes
from .._computer.description import fingerprint, machine, moment
from .._computer.system import Stolen
from ..errors import ProfileError
from ..profiles.profile import FORMAT, VERSION, Profile, ProfileWarning
from .method.clocks import clock_rate
from .method.plan import MODES, Measurement, Plan, Stopped
from .method.samples import Samples, samples_of
from .sections import SECTIONS

Progress = Callable[[float, str], None]


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
        self.plan = plan
        self.samples: Samples = {}
        self._began, self._stolen, self._before_s = time.monotonic(), Stolen(), 0.0
        data: dict[str, Any] = {} if base is None else dict(base.data)
        self._added_to = data.get("created")
        data |= {
            "format": FORMAT,
            "version": VERSION,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "smp": version.VERSION,
            "machine": machine(clock_rate()),
            "conditions": {
                "mode": plan.mode,
                "seed": plan.seed,
                "processors": list(plan.processors),
                "load_before": moment()["load"],
                "interrupted": True,  # until it is whole
            },
            "samples": "samples.npz",
        }
        self.profile = Profile(data)

    def begin(self, sections: Sequence[str], folder: Path) -> list[str]:
        """Settle what is measured and where it is saved; take up what the same measurement, interrupted, left there.

        Parameters
        ----------
        sections : sequence of str
        folder : Path

        Returns
        -------
        list of str
            The sections that need not be measured again.
        """
        asked = [known for known in SECTIONS if known in sections]
        self._folder = folder
        self.profile.data["unfinished"] = {"sections": asked, "done": [], "added_to": self._added_to}
        earlier = _earlier(folder)
        if _task(earlier.data) == _task(self.profile.data):
            self.profile, self.samples = earlier, samples_of(earlier)
            self._before_s = earlier.data["conditions"].get("seconds") or 0.0
        return list(self.profile.data["unfinished"]["done"])

    def measure(self, progress: Progress) -> None:
        """Measure what is not done yet, section by section, and save each.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the profile holds what was measured.
        OSError
            When a section cannot be saved.
        """
        unfinished = self.profile.data["unfinished"]
        left = [name for name in unfinished["sections"] if name not in unfinished["done"]]
        seconds = {name: SECTIONS[name].seconds[MODES.index(self.plan.mode)] for name in left}
        whole = float(sum(seconds[name] for name in left))
        before = 0.0
        try:
            for name in left:
                start, share = before, seconds[name]

                def tick(done: float, text: str, start: float = start, share: float = share) -> None:
                    progress((start + share * min(done, 1.0)) / whole, text)

                tick(0.0, name)
                self._add(name, self._probe(name)(tick))
                unfinished["done"].append(name)
                before += share
                if name != left[-1]:
                    self.save()
        except Stopped as stopped:
            self._add(stopped.name, stopped.section)
            raise
        del self.profile.data["unfinished"]
        self.profile.data["conditions"]["interrupted"] = False

    def _probe(self, name: str) -> Callable[[Callable[[float, str], None]], Measurement]:
        section = SECTIONS[name]
        measure = section.part("probe", "measure")
        if section.predicted:
            return lambda tick: measure(self.plan, tick, self._fitted())
        return lambda tick: measure(self.plan, tick)

    def _fitted(self) -> Profile | None:
        """The profile whose cost functions predict: this one, else the last of this machine that has some."""
        if (self.profile.data.get("access") or {}).get("functions"):
            return self.profile
        try:
            return Profile.find()
        except ProfileError:
            return None

    def _add(self, name: str, section: Measurement) -> None:
        self.profile.data[name] = section.data.to_json()
        self.samples |= section.samples

    def _close_conditions(self) -> None:
        fractions = [
            self.profile.data[name]["clean_fraction"]
            for name in SECTIONS
            if (self.profile.data.get(name) or {}).get("clean_fraction") is not None
        ]
        self.profile.data["conditions"] |= {
            "seconds": round(self._before_s + time.monotonic() - self._began, 1),
            "stolen_fraction": self._stolen.fraction(),
            "clean_fraction": float(np.mean(fractions)) if fractions else None,
        }

    def save(self) -> list[Path]:
        """Write ``samples.npz`` and ``profile.json``, each whole or not at all; keep it for `Profile.find`.

        The profile comes last, so that the samples of all that it holds are there, and also where the disk is too full
        for the samples.
        """
        self._close_conditions()
        self._folder.mkdir(parents=True, exist_ok=True)
        profile, samples = self._folder / "profile.json", self._folder / "samples.npz"
        beside = self._folder / f".samples.{os.getpid()}.npz"
        try:
            np.savez_compressed(beside, **self.samples)  # type: ignore[arg-type]  # its stub has no such keywords
            beside.replace(samples)
        finally:
            beside.unlink(missing_ok=True)
            self.profile.save(profile)
        if (self.profile.data.get("access") or {}).get("functions"):
            Profile(self.profile.data).keep()
        return [profile, samples]


def _earlier(folder: Path) -> Profile:
    """Return the profile in a folder; an empty one if there is none, or none that reads."""
    try:
        with warnings.catch_warnings(action="ignore", category=ProfileWarning):
            return Profile.load(folder)
    except ProfileError:
        return Profile({})


def _task(data: Mapping[str, Any]) -> Any:
    """By what the same measurement is known again; None for one that is whole, or damaged."""
    try:
        unfinished, conditions = data["unfinished"], data["conditions"]
        how = [conditions[key] for key in ("mode", "seed", "processors")]
        return how, unfinished["sections"], unfinished["added_to"], data["smp"], fingerprint(data["machine"])
    except (LookupError, TypeError, AttributeError):
        return None
