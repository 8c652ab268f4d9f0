"""Profile of a machine: all measurements and fits, as one JSON file with the raw samples next to it.

    profile.json    versioned; names the machine and the conditions under which it was measured
    samples.npz     every window and superstep, as it was taken

The last profile measured on a machine is also kept in the user's data folder under the machine's fingerprint, where
`Profile.find` looks for it.
"""

from __future__ import annotations

import contextlib
import importlib
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
from .nodes import interval_on_nodes
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
    """Warns that the profile is usable, with a caveat."""


def kept_at(described: Mapping[str, Any]) -> Path:
    """Return the path at which a machine's last profile is kept, in the `data_folder`."""
    kind = described.get("kind") or "host"
    return data_folder() / f"profile-{fingerprint(described)}{'' if kind == 'host' else f'-{kind}'}.json"


class Profile:
    """Measurements and fitted cost functions of one machine, with predictions from them.

    Parameters
    ----------
    data : dict
        The JSON document.
    path : Path, optional
        File that it was read from.
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
            Path of ``profile.json``, or of the folder that it is in.

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
            If it was measured on another machine: its predictions are for that machine.
        """
        file = Path(path)
        file = file / "profile.json" if file.is_dir() else file
        profile = cls(_read(file), file)
        judge(profile)
        mine = hardware()
        theirs = profile.data["machine"]
        if fingerprint(theirs) != fingerprint(mine):
            warnings.warn(
                f"{file} was measured on another machine, {named(theirs)}, and its predictions are for that machine; "
                f"this one is {named(mine)}",
                ProfileWarning,
                stacklevel=2,
            )
        return profile

    @classmethod
    def find(cls, kind: str = "host") -> Profile:
        """Return the profile last measured on this machine.

        Parameters
        ----------
        kind : {"host", "mpi"}
            Kind of machine that was measured: this computer, or a machine of MPI that was opened from it.

        Raises
        ------
        ProfileError
            If there is none, or if it cannot be read; the message names the command that makes one.
        """
        file = kept_at(hardware() | {"kind": kind})
        if not file.exists():
            of, more = ("this machine", "") if kind == "host" else ("a machine of MPI", " --machine mpi")
            raise ProfileError(
                f"no profile of {of} has been measured yet; {MEASURE}{more} makes one in less than a minute"
            )
        return cls.load(file)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a file, completely or not at all."""
        write(Path(path), json.dumps(self.data, indent=1, allow_nan=False))
        self.path = Path(path)

    def keep(self) -> None:
        """Make this the profile that `find` returns on the machine it was measured on."""
        self.save(kept_at(self.data["machine"]))

    def to_frame(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row for each figure by which profiles are compared.

        Its columns are ``section, what, unit, value, more_is_better, valid``.  It raises ModuleNotFoundError if pandas
        is not installed.
        """
        return importlib.import_module("smp.microbench.predictions.figures").frame_of(self)  # of a layer above

    def page(self) -> str:
        """Return the page that ``smp measure`` writes as ``index.html``; it may be put into a frame of a notebook."""
        return str(importlib.import_module("smp.microbench.report.display").page_html(self))  # of a layer above

    def _repr_html_(self) -> str:
        return str(importlib.import_module("smp.microbench.report.display").profile_html(self))  # of a layer above

    def section(self, name: str) -> Any:
        """Return the results of one section, as the record of its microbenchmark.

        Parameters
        ----------
        name : str
            Name of the section in the profile's file, such as "latency".

        Returns
        -------
        Record or None
            None if the section was not measured.

        Raises
        ------
        ProfileError
            If the data do not fit the section's layout; the message says which value is wrong.
        """
        if not self.data.get(name):
            return None
        from .._computer import documents  # Pydantic takes a while to import, and a new profile does not need it
        from .layout import section_layout

        return documents.check(self.data[name], section_layout(name), ProfileError, f"section {name!r}", REMEDY)

    @property
    def kind(self) -> str:
        """Kind of machine that was measured: "host" or "mpi" with real seconds, or "emulated" with virtual ones."""
        return str((self.data.get("machine") or {}).get("kind") or "host")

    @property
    def predicts(self) -> bool:
        """True if the profile has cost functions."""
        return any((self.data.get(name) or {}).get("functions") for name in ("access", "nodes"))

    @property
    def access(self) -> dict[str, Any]:
        """Fitted cost functions: the profile's section "access"."""
        found = self.data.get("access")
        if not found or not found.get("functions"):
            raise ProfileError(
                f"this profile has no cost functions: its access patterns were not measured; {MEASURE} measures them"
            )
        return dict(found)

    @property
    def processors(self) -> list[int]:
        """Numbers of processors p whose access patterns were measured, ascending."""
        return sorted({int(row["p"]) for row in self.access["functions"]})

    def function(self, family: str, p: int, name: str | None = None, part: str = "all") -> dict[str, Any]:
        """Return a fitted function of the section "access", by default the family's best.

        Raises
        ------
        ProfileError
            If it was not fitted.
        """
        rows = [r for r in self.access["functions"] if (r["family"], r["p"], r["set"]) == (family, p, part)]
        for wanted in [name] if name else [BEST[family], "HrHw", "HM", "H"]:
            for row in rows:
                if row["name"] == wanted:
                    return dict(row)
        raise ProfileError(
            f"this profile has no function {name or BEST[family]} of the {family} family for p = {p} ({part})"
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
        """Return the seconds that the machine charges for copy-in and copy-out, by a family of access patterns.

        Parameters
        ----------
        family : {"good", "bad", "random"}
        p : int
            Number of processors. For a number that was not measured, the prediction is interpolated between its
            neighbours, or taken from the nearest (see `basis`).
        hr, hw, m : array_like (n,)
            h_r and h_w, the most words that any processor reads and writes, and M, the reads plus writes of all.
        others : Others, optional
            Words of the processors other than the busiest; by default those of `Others.assumed`.
        footprint : array_like (n,), optional
            Footprint: the words over which the accesses of Random are scattered; by default the largest measured.

        Returns
        -------
        ndarray (n,) float64
            Seconds, never below zero; NaN for Random if it was not measured.
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
        """Return the measured numbers of processors from which p is predicted, each with its share."""
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
        """Return a note of the numbers of processors from which p is predicted; "" if p itself was measured."""
        weights = self.neighbours(p)
        if p in weights:
            return ""
        return f"p = {p} was not measured: predicted from p = {' and '.join(str(q) for q in sorted(weights))}"

    def functions(
        self, family: str, p: int, h: Seconds, footprint: Seconds | None = None
    ) -> Iterator[tuple[dict[str, Any], Seconds]]:
        """Return the functions that predict a family for a measured p, each with its share in n supersteps.

        They are the chosen forms: one form, or for Random one for each footprint that was measured. A superstep is
        shared between the forms of the next smaller and the next larger footprint. A profile without forms has
        functions for the sets R0 and R1, if they were fitted.

        Parameters
        ----------
        family : {"good", "bad", "random"}
        p : int
            Number of processors.
        h : ndarray (n,) float64
            The larger of h_r and h_w of each superstep, in words.
        footprint : ndarray (n,) float64, optional
            Footprint: the words over which the accesses of Random are scattered; by default the largest measured.

        Yields
        ------
        function : dict
            A fitted function. A form without a share in any superstep is yielded too, so that its prices have a name.
        share : ndarray (n,) float64
            Share of the function in each superstep.
        """
        forms = [row for row in self.access.get("forms") or [] if (row["family"], row["p"]) == (family, p)]
        chosen = sorted((row for row in forms if row["chosen"]), key=lambda row: row.get("footprint") or 0)
        if chosen:
            yield from zip(map(dict, chosen), shares(chosen, len(h), footprint), strict=True)
            return
        left, private = np.ones(len(h)), self.access.get("private_words")
        if family == "good" and private is not None:
            for part, rows in (("R0", h <= private), ("R1", h > private)):
                with contextlib.suppress(ProfileError):  # too few sizes on that side of the cache's capacity
                    yield self.function(family, p, BEST[family], part), rows.astype(np.float64)
                    left = np.where(rows, 0.0, left)
        if left.any():
            yield self.function(family, p), left

    @property
    def tiers(self) -> list[float]:
        """Capacities of the levels of memory in words, ascending, the last infinite."""
        return [math.inf if tier["words"] is None else float(tier["words"]) for tier in self.access["tiers"]]

    def interval(self, supersteps: NDArray[np.void], p: int) -> Interval:
        """Return the prediction interval of each superstep; users call `Run.interval`.

        Parameters
        ----------
        supersteps : structured array
            Supersteps as in `Run.summary`.
        p : int
            Number of processors.

        Notes
        -----
        Good is charged by the bytes, because it streams them. Bad and Random are charged by the accesses, because each
        access moves a line. Random also depends on the footprint, the bytes of all arrays that a superstep copies from
        or to. Dependent reads are charged the latency at that footprint instead of Random's price: see
        `smp.profiles.waiting`. Loops that read faster than copies are charged the rate of reading: see
        `smp.profiles.reading`.

        The bad end is the larger of Bad and Random: if caches prefetch, scattered words can cost more than the paper's
        worst pattern. The time that the runtime takes for a superstep that moves next to nothing is added: its least
        to Good, its most to Bad and Random. Measured and predicted times are of communication alone.

        The profile of a machine of MPI predicts by other functions: see `smp.profiles.nodes`.
        """
        if self.data.get("nodes"):
            return interval_on_nodes(self.data["nodes"], supersteps, p)
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
    from .._computer import documents  # Pydantic takes a while to import, and a new profile does not need it
    from .layout import profile_layout

    data = documents.read(file, ProfileError, "a profile", REMEDY)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ProfileError(f"{file} is not a profile of smp: its format is not {FORMAT!r}")
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ProfileError(f"{file} is of version {version}, but this smp reads up to {VERSION}: upgrade smp-runtime")
    documents.check(data, profile_layout(), ProfileError, str(file), REMEDY)
    return data
