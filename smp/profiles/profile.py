"""A profile: all that was measured and fitted of one machine, as one JSON file with the raw samples beside it.

    profile.json    versioned; names the machine and the conditions it was measured under
    samples.npz     every window and superstep, as it was taken

The last profile measured on a machine is also kept in the user's data folder under the machine's fingerprint, where
`Profile.find` looks for it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._computer.data import data_folder, write
from .._computer.description import fingerprint, hardware, named
from ..errors import ProfileError
from ..models.supersteps.cost import Others, others_of, predict
from ..models.supersteps.intervals import Accesses, Interval, interval
from .kept_apart import judge
from .reading import good_end
from .waiting import chains, latencies, no_latency
from .words import element_bytes, footprints, shares

FORMAT, VERSION = "smp-profile", 1
BEST = {"good": "HrHwM-c", "bad": "HrHwM", "random": "HrHwM"}
RANDOM = "random"
MEASURE = "python -m smp.microbench --quick"
REMEDY = f"{MEASURE} makes one"

Seconds = NDArray[np.float64]


class ProfileWarning(UserWarning):
    """A profile can be used, but not without a word."""


def kept_at(described: Mapping[str, Any]) -> Path:
    """Where a machine's last profile is kept: see `data_folder`."""
    return data_folder() / f"profile-{fingerprint(described)}.json"


class Profile:
    """What was measured of one machine.

    Parameters
    ----------
    data : dict
        The JSON document.
    path : Path, optional
        Where it was read from.
    """

    def __init__(self, data: dict[str, Any], path: Path | None = None) -> None:
        self.data, self.path = data, path

    def __repr__(self) -> str:
        return f"<profile of {named(self.data.get('machine') or {})}, {self.data.get('created')}>"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read a profile.

        Parameters
        ----------
        path : path_like
            Of ``profile.json``, or of the folder it is in.

        Returns
        -------
        Profile

        Raises
        ------
        ProfileError
            A file that is missing, damaged, of another format or of a later version; the message says which, and which
            value is wrong.

        Warns
        -----
        ProfileWarning
            When it was measured on another machine: its predictions are for that one.
        """
        file = Path(path)
        file = file / "profile.json" if file.is_dir() else file
        profile = cls(_read(file), file)
        judge(profile)
        mine = hardware()
        theirs = profile.data["machine"]
        if fingerprint(theirs) != fingerprint(mine):
            warnings.warn(
                f"{file} was measured on another machine: {named(theirs)}; this one is {named(mine)}; "
                "its predictions are for that machine",
                ProfileWarning,
                stacklevel=2,
            )
        return profile

    @classmethod
    def find(cls) -> Profile:
        """Return the profile last measured on this machine.

        Raises
        ------
        ProfileError
            When there is none; says which command makes one.
        """
        file = kept_at(hardware())
        if not file.exists():
            raise ProfileError(
                f"no profile of this machine has been measured yet; {MEASURE} makes one in less than a minute"
            )
        return cls.load(file)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a file, whole or not at all."""
        write(Path(path), json.dumps(self.data, indent=1, allow_nan=False))
        self.path = Path(path)

    def keep(self) -> None:
        """Make this the profile that `find` returns on the machine it was measured on."""
        self.save(kept_at(self.data["machine"]))

    def section(self, name: str) -> Any:
        """Return what was measured in one section, as the record of its microbenchmark.

        Parameters
        ----------
        name : str
            As in the profile's file: "latency".

        Returns
        -------
        Record or None
            None where it was not measured.

        Raises
        ------
        ProfileError
            When it does not hold what the section should; says which value is wrong.
        """
        if not self.data.get(name):
            return None
        from .._computer import documents  # Pydantic takes a while to import, and a new profile does without it
        from .layout import section_layout

        return documents.check(self.data[name], section_layout(name), ProfileError, f"section {name!r}", REMEDY)

    @property
    def kind(self) -> str:
        """The kind of machine that was measured, "host" or "emulated"; it says whose seconds they are."""
        return str((self.data.get("machine") or {}).get("kind") or "host")

    @property
    def access(self) -> dict[str, Any]:
        """The fitted cost functions; the profile's "access"."""
        found = self.data.get("access")
        if not found or not found.get("functions"):
            raise ProfileError(
                f"this profile has no cost functions: its access patterns were not measured; {MEASURE} measures all"
            )
        return dict(found)

    @property
    def processors(self) -> list[int]:
        """The p whose access patterns were measured, ascending."""
        return sorted({int(row["p"]) for row in self.access["functions"]})

    def function(self, family: str, p: int, name: str | None = None, part: str = "all") -> dict[str, Any]:
        """Return a fitted function, by default the family's best; see "access" in `load`'s file.

        Raises
        ------
        ProfileError
            When it was not fitted.
        """
        rows = [r for r in self.access["functions"] if (r["family"], r["p"], r["set"]) == (family, p, part)]
        for wanted in [name] if name else [BEST[family], "HrHw", "HM", "H"]:
            for row in rows:
                if row["name"] == wanted:
                    return dict(row)
        raise ProfileError(
            f"no function {name or BEST[family]} of the {family} family for p = {p} ({part}) in this profile"
        )

    def predict(
        self,
        family: str,
        p: int,
        hr: ArrayLike,
        hw: ArrayLike,
        m: ArrayLike,
        others: Others | None = None,
        footprint: ArrayLike | None = None,
    ) -> Seconds:
        """Return the seconds that the machine charges for copy-in and copy-out in a family.

        Parameters
        ----------
        family : {"good", "bad", "random"}
        p : int
            Processors.  One that was not measured is interpolated between its neighbours, or taken from the
            nearest (see `basis`).
        hr, hw, m : array_like (n,)
            h_r, h_w and M in words.
        others : Others, optional
            Words of the processors other than the busiest; by default the most that h_r, h_w and M allow.
        footprint : array_like (n,), optional
            Words that the accesses of Random fall on; by default the most that was measured.

        Returns
        -------
        ndarray (n,) float64
            Never below zero; NaN for Random where it was not measured.
        """
        reads, writes, total = (np.atleast_1d(np.asarray(a, np.float64)) for a in (hr, hw, m))
        spans = None if footprint is None else np.atleast_1d(np.asarray(footprint, np.float64))
        if family == RANDOM and not self._has(family):
            return np.full(len(reads), np.nan)
        made = np.zeros(len(reads))
        for q, share in self.neighbours(p).items():
            for function, weights in self.functions(family, q, np.maximum(reads, writes), spans):
                made += share * weights * predict(function, reads, writes, total, self.tiers, others)
        return made

    def _has(self, family: str) -> bool:
        return any(row["family"] == family for name in ("forms", "functions") for row in self.access.get(name) or [])

    def neighbours(self, p: int) -> dict[int, float]:
        """Return the measured p that predictions for p rest on, each with its share."""
        known = self.processors
        if p in known or p < known[0] or p > known[-1]:
            return {min(known, key=lambda q: abs(q - p)): 1.0}
        below, above = max(q for q in known if q < p), min(q for q in known if q > p)
        share = (p - below) / (above - below)
        return {below: 1 - share, above: share}

    def overhead(self, p: int) -> tuple[float, float]:
        """Return the least and the most seconds that the runtime adds to a superstep (5th and 95th percentile)."""
        known = self.access.get("overhead_s") or {}
        low, high = (
            sum(w * known.get(str(q), (0.0, 0.0))[end] for q, w in self.neighbours(p).items()) for end in (0, 1)
        )
        return float(low), float(high)

    def basis(self, p: int) -> str:
        """Say what predictions for p rest on, where p itself was not measured; else nothing."""
        weights = self.neighbours(p)
        if p in weights:
            return ""
        return f"p = {p} was not measured: predicted from p = {' and '.join(str(q) for q in sorted(weights))}"

    def functions(
        self, family: str, p: int, h: Seconds, footprint: Seconds | None = None
    ) -> Iterator[tuple[dict[str, Any], Seconds]]:
        """Return the functions that predict a family for a measured p, each with its share in some supersteps.

        They are the chosen forms: one, or for Random those of the footprints next below and above.  A profile that has
        no forms has functions for R0 and R1 where they were fitted.

        Parameters
        ----------
        family : {"good", "bad", "random"}
        p : int
        h : ndarray (n,) float64
            The larger of h_r and h_w of each superstep, in words.
        footprint : ndarray (n,) float64, optional
            Words that the accesses of Random fall on; by default the most that was measured.

        Yields
        ------
        function : dict
            Also one that has no share in any: it names its prices.
        share : ndarray (n,) float64
        """
        forms = [row for row in self.access.get("forms") or [] if (row["family"], row["p"]) == (family, p)]
        chosen = sorted((row for row in forms if row["chosen"]), key=lambda row: row.get("footprint") or 0)
        if chosen:
            yield from zip(map(dict, chosen), shares(chosen, len(h), footprint), strict=True)
            return
        left, private = np.ones(len(h)), self.access.get("private_words")
        if family == "good" and private is not None:
            for part, rows in (("R0", h <= private), ("R1", h > private)):
                with contextlib.suppress(ProfileError):  # too few sizes on that side of the cache
                    yield self.function(family, p, BEST[family], part), rows.astype(np.float64)
                    left = np.where(rows, 0.0, left)
        if left.any():
            yield self.function(family, p), left

    @property
    def tiers(self) -> list[float]:
        """Capacities of the levels of memory in words, ascending, the last infinite."""
        return [math.inf if tier["words"] is None else float(tier["words"]) for tier in self.access["tiers"]]

    def interval(self, supersteps: NDArray[np.void], p: int) -> Interval:
        """Return the interval of supersteps; `Run.interval` is the way to ask for it.

        Parameters
        ----------
        supersteps : structured array
            Of `Run.summary`.
        p : int
            Processors.

        Notes
        -----
        Good is charged by the bytes, which it streams, bad and random by the accesses, each of which moves a line;
        random by the footprint too, the bytes of all arrays that a superstep copies from or to.  In place of random's
        price, reads of a chain are charged the latency at that footprint: see `smp.profiles.waiting`.  Loops that read
        quicker than copies do are charged the rate of reading: see `smp.profiles.reading`.
        The bad end is the larger of the two: where caches prefetch, scattered words can cost more than the paper's
        worst pattern.  What the runtime takes for a superstep that moves next to nothing is added: the least of it
        to good, the most to bad and random.  Measured and predicted times are of communication alone.
        """
        elements = Accesses(supersteps["hr"], supersteps["hw"], supersteps["m"])
        size = self.access["word_bytes"]
        words = Accesses(supersteps["hr_bytes"], supersteps["hw_bytes"], supersteps["m_bytes"])
        others = others_of(supersteps)
        spans = footprints(supersteps, size)
        streamed = None if others is None else others.times(element_bytes(words.m, elements.m) / size)
        bad = self.predict("bad", p, elements.hr, elements.hw, elements.m, others)
        seconds = latencies(self.data, supersteps)
        chain = chains(supersteps) * (seconds is not None)
        random = self.predict("random", p, elements.hr - chain, elements.hw, elements.m - chain, others, spans)
        waiting = 0.0 if seconds is None else chain * seconds
        least, most = self.overhead(p)
        made = interval(
            supersteps["step"],
            supersteps["label"],
            elements,
            words,
            supersteps["copy_in"],
            supersteps["compute"],
            supersteps["copy_out"],
            good_end(partial(self.predict, "good", p), self.data, supersteps, p, streamed, least),
            bad + most,
            random + waiting + most,
        )
        return made.noting(self.basis(p), no_latency(self.data, supersteps))


def _read(file: Path) -> dict[str, Any]:
    from .._computer import documents  # Pydantic takes a while to import, and a new profile does without it
    from .layout import profile_layout

    data = documents.read(file, ProfileError, "a profile", REMEDY)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ProfileError(f"{file} is no profile of smp: its format is not {FORMAT!r}")
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ProfileError(f"{file} is of version {version}, this smp reads up to {VERSION}: upgrade smp-runtime")
    documents.check(data, profile_layout(), ProfileError, str(file), REMEDY)
    return data
