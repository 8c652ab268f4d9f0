"""Run a whole measurement, section by section, into a profile, and resume it after any interruption.

A probe measures each section, and the section is saved when it ends.  Until the last section has ended, the profile
records which sections were asked for and which are done.  The same command therefore resumes the measurement after any
interruption, SIGKILL included.  After Ctrl-C, the profile also holds the part of the current section that makes sense
by itself (`Stopped`).  The same is true when a budget of seconds runs out.  The budget is shared out among the sections
(`share_out`).
"""

from __future__ import annotations

import datetime
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._computer import version
from .._computer.activity import look
from .._computer.cpus import caches, line_bytes
from .._computer.deadline import Deadline
from .._computer.description import fingerprint, machine
from .._computer.facts import gather
from .._computer.system import Stolen, load
from ..errors import ProfileError
from ..profiles.profile import FORMAT, VERSION, Profile, ProfileWarning
from .method.budget import LEAST, share_out
from .method.clocks import HostClock, clock_rate
from .method.placement import records
from .method.plan import MODES, Measurement, Plan, Stopped
from .method.ranks import Ranks
from .method.samples import Samples, samples_of
from .sections import IMPORTANCE, SECTIONS
from .specification_file import Request, plain

Progress = Callable[[float, str], None]
Ended = Callable[[str, float], None]
"""Called when a section has ended, with its name and the seconds that it took."""


def make_plan(mode: str, processors: Sequence[int], seed: int, word_bytes: int = 8, ranks: Ranks | None = None) -> Plan:
    """Return a plan for this machine, or for a machine of MPI."""
    return Plan(mode, tuple(processors), seed, line_bytes(), word_bytes, tuple(caches()), ranks=ranks)


class Campaign:
    """A measurement in progress and its results so far.

    Parameters
    ----------
    plan : Plan
    base : Profile, optional
        Saved profile to add to. Its sections are kept unless they are measured again.
    budget_s : float, optional
        Seconds that the measurement may take from now on. Sections that do not fit are not measured.
    name : str, optional
        Name of the machine in the profile.
    request : Request, optional
        Request of a specification file, with the parameters that sections have of their own.

    Attributes
    ----------
    profile : Profile
    samples : dict of str to ndarray
    """

    def __init__(
        self,
        plan: Plan,
        base: Profile | None = None,
        budget_s: float | None = None,
        name: str | None = None,
        request: Request | None = None,
    ) -> None:
        self.plan, self.budget_s = plan, budget_s
        self._own = {} if request is None else request.sections
        self.samples: Samples = {}
        self._share, self._deadline = 1.0, Deadline(budget_s)
        self._cut: set[str] = set()  # sections that an earlier part of the measurement has begun and not ended
        self._began, self._stolen, self._before_s = time.monotonic(), Stolen(), 0.0
        data: dict[str, Any] = {} if base is None else dict(base.data)
        self._added_to = data.get("created")
        data |= {
            "format": FORMAT,
            "version": VERSION,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "smp": version.VERSION,
            "machine": machine(clock_rate())
            | ({"name": name} if name else {})
            | ({"kind": "mpi"} if plan.ranks else {}),
            "facts": gather(),
            "conditions": {
                "mode": plan.mode,
                "seed": plan.seed,
                "processors": list(plan.processors),
                "word_bytes": plan.word_bytes,
                "ranks": str(plan.ranks) if plan.ranks else None,
                "load_before": load(),
                "budget_s": budget_s,
                "interrupted": True,  # until it has ended by itself
            }
            | ({} if request is None else {"specification": {"file": request.file, "sections": plain(self._own)}}),
            "samples": "samples.npz",
        }
        self.profile = Profile(data)

    def begin(self, sections: Sequence[str], folder: Path) -> list[str]:
        """Set the sections to measure and the folder; resume the same measurement if it was interrupted there.

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
            self._cut = set(earlier.data) - set(self.profile.data)
            self.profile, self.samples = earlier, samples_of(earlier)
            self.profile.data["conditions"] |= {"budget_s": self.budget_s, "interrupted": True}
            self._before_s = earlier.data["conditions"].get("seconds") or 0.0
            if "placement" in self.samples:
                self.plan.placement.restore(self.samples["placement"])
        return list(self.profile.data["unfinished"]["done"])

    def look(self, when: str) -> list[str]:
        """Record what else the computer does, ``before`` or ``after`` the measurement; return what disturbs it.

        This takes some tenths of a second.
        """
        seen = look(HostClock().rate)
        self.profile.data["conditions"][when] = seen
        return list(seen["busy"])

    @property
    def missing(self) -> list[str]:
        """Sections that were asked for and are not measured, or only in part."""
        unfinished = self.profile.data.get("unfinished") or {"sections": (), "done": ()}
        return [name for name in unfinished["sections"] if name not in unfinished["done"]]

    def measure(self, progress: Progress, ended: Ended = lambda name, seconds: None) -> None:
        """Measure the sections that are not done yet, one after another, and save each.

        With a budget, the most important sections come first, and sections that do not fit are left out.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the profile holds the results so far.
        OSError
            When a section cannot be saved.
        """
        try:
            with self._deadline:
                self._measure(progress, ended)
        except KeyboardInterrupt as stopped:
            if isinstance(stopped, Stopped):
                self._add(stopped.name, stopped.section)
            if not self._deadline.passed:
                raise
        self.profile.data["conditions"]["interrupted"] = False
        if not self.missing:
            del self.profile.data["unfinished"]

    def _measure(self, progress: Progress, ended: Ended) -> None:
        done, before = self.profile.data["unfinished"]["done"], 0.0
        while left := self._chosen(begun=before > 0.0):
            name, share = next(iter(left.items()))
            whole = before + sum(left.values())

            def tick(done: float, text: str, start: float = before, share: float = share, whole: float = whole) -> None:
                progress((start + share * min(done, 1.0)) / whole, text)
                if done < 1.0:  # a complete section is kept, even after the deadline
                    self._deadline.check()

            began = time.monotonic()
            tick(0.0, name)
            self._add(name, self._probe(name)(tick))
            done.append(name)
            ended(name, time.monotonic() - began)
            before += share
            if self.missing:
                self.save()

    def _chosen(self, begun: bool) -> dict[str, float]:
        """Return the sections to measure, in order, with the seconds of each; set the share of their usual time."""
        modes = {name: self._own.get(name, {}).get("mode", self.plan.mode) for name in self.missing}
        usual = {name: SECTIONS[name].seconds[MODES.index(mode)] for name, mode in modes.items()}
        left_s = self._deadline.left
        if left_s is None or not usual:
            return usual
        rank = {name: place for place, name in enumerate(IMPORTANCE)}

        def place(name: str) -> tuple[bool, int]:
            """Return a section's sort key; one that was cut off earlier comes last, as it would not end now either."""
            return name in self._cut, rank.get(name, len(rank))

        usual = {name: usual[name] for name in sorted(usual, key=place)}
        fixed = [name for name in usual if not SECTIONS[name].scaled]
        fits, self._share = share_out(usual, left_s, LEAST[self.plan.mode], fixed)
        if not fits and not begun:  # the section is cut off in the middle, which is better than no section
            fits, self._share = list(usual)[:1], min(1.0, max(1e-3, left_s / next(iter(usual.values()))))
        return {name: usual[name] * (1.0 if name in fixed else self._share) for name in fits}

    def _probe(self, name: str) -> Callable[[Callable[[float, str], None]], Measurement]:
        section, plan = SECTIONS[name], replace(self.plan, share=self._share, **self._own.get(name, {}))
        measure = section.part("probe", "measure")
        if section.predicted:
            return lambda tick: measure(plan, tick, self._fitted())
        return lambda tick: measure(plan, tick)

    def _fitted(self) -> Profile | None:
        """Return the profile whose cost functions predict: this one, or the last one of this machine that has any."""
        if self.profile.predicts:
            return self.profile
        try:
            return Profile.find(self.profile.kind)
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
        log = self.plan.placement
        states = {str(p): [state.to_json() for state in records(log.placement(p))] for p in log.processors}
        self.samples["placement"] = log.samples()
        if self.profile.data.get("placement"):
            self.profile.data["placement"] |= {"states": states}
        self.profile.data["conditions"] |= {
            "placement": states,
            "seconds": round(self._before_s + time.monotonic() - self._began, 1),
            "stolen_fraction": self._stolen.fraction(),
            "clean_fraction": float(np.mean(fractions)) if fractions else None,
        }

    def save(self) -> list[Path]:
        """Write ``samples.npz`` and ``profile.json``, each whole or not at all.

        The profile is written last, so that the samples of all its sections are already there.  It is also written if
        the disk is too full for the samples.  A profile with cost functions is also kept for `Profile.find`.
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
        if self.profile.predicts:
            Profile(self.profile.data).keep()
        return [profile, samples]


def _earlier(folder: Path) -> Profile:
    """Return the profile in a folder; an empty one if there is none, or if it cannot be read."""
    try:
        with warnings.catch_warnings(action="ignore", category=ProfileWarning):
            return Profile.load(folder)
    except ProfileError:
        return Profile({})


def _task(data: Mapping[str, Any]) -> Any:
    """Return the settings that identify an interrupted measurement; None if the profile is complete or damaged."""
    try:
        unfinished, conditions = data["unfinished"], data["conditions"]
        own = (conditions.get("specification") or {}).get("sections")
        how = [own, conditions.get("ranks"), *(conditions[key] for key in ("mode", "seed", "processors", "word_bytes"))]
        return how, unfinished["sections"], unfinished["added_to"], data["smp"], fingerprint(data["machine"])
    except (LookupError, TypeError, AttributeError):
        return None
