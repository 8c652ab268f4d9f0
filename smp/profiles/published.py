"""Profiles of machines whose cost functions were published, to predict a program's times on them.

SGI Power Challenge    16 MIPS R10000, of which 2, 4, 8 and 12 were measured (SMP cost study, tables 1 to 8)

Every function and error of such a profile names its ``source``. The families are those that were published: Good and
Bad.
"""

from __future__ import annotations

import math
import os
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProfileError
from ..models.supersteps.intervals import Interval
from ..models.supersteps.published import CACHE_WORDS, PROCESSORS, WORD_BYTES, paper_errors, paper_functions
from ..models.supersteps.suites import sizes
from .profile import FORMAT, VERSION, Profile

POWER_CHALLENGE = "SGI Power Challenge"
PUBLISHED = (POWER_CHALLENGE,)
"""Names of the machines that `published_machine` knows."""

STUDY = "SMP cost study"
LINE_BYTES = 128
MACHINE = {
    "name": POWER_CHALLENGE,
    "cpu": "MIPS R10000",
    "cpus": 16,
    "clock_GHz": 0.195,
    "clock_source": f"{STUDY}, section 2",
    "line_bytes": LINE_BYTES,
    "caches": [
        {"level": 1, "bytes": 32 * 1024, "shared_by": 1},
        {"level": 2, "bytes": 2 * 1024 * 1024, "shared_by": 1},
    ],
    "kind": "host",
    "source": f"{STUDY}, section 2; the lines of the L1 cache have 32 bytes",
}
TIERS = [
    {"name": "L2", "words": CACHE_WORDS, "shared": False, "source": f"{STUDY}, section 4.2.1"},
    {"name": "memory", "words": None, "shared": True},
]
ALL = {
    2: (0.0, 0.01789, 0.00764, 0.05111, 0.04751, 0.000166),
    4: (16.6, 0.01857, 0.008375, 0.05102, 0.04615, 0.0001567),
    8: (137.6, 0.01841, 0.00861, 0.05198, 0.04639, 8.155e-05),
    12: (275.1, 0.01812, 0.008497, 0.05312, 0.0477, 8.771e-05),
}
"""Coefficients of HrHwM-c of Good for small and large supersteps together, by p, in us (L) and in us per word. They are
the result of `fit_family` on suite 1, with the times that the functions R0 and R1 of table 2 give. The study made such
a function, but did not print it (section 4.3)."""
ALL_TERMS = ("L", "ghr1", "ghw1", "ghr2", "ghw2", "gM")
ALL_SOURCE = "fitted to the times that R0 and R1 of table 2 give for suite 1; the study does not print its own"
NOTE = "Good and bad are predicted for the {}; the measured times are of the machine that ran the program."


class PublishedProfile(Profile):
    """Profile of a published machine; its predictions are never for the machine that ran a program."""

    def interval(self, supersteps: NDArray[np.void], p: int) -> Interval:
        """Return the interval of `Profile.interval`, with a note of which machine each of its times is for."""
        return super().interval(supersteps, p).noting(NOTE.format(self.data["machine"]["name"]))


def published_machine(name: str) -> PublishedProfile:
    """Return the profile of a machine whose cost functions were published.

    Parameters
    ----------
    name : str
        One of `PUBLISHED`: "SGI Power Challenge".

    Returns
    -------
    PublishedProfile
        Profile with cost functions and their validation, in seconds, for the numbers of processors p that were
        measured. It predicts for that machine (``run.interval(profile)``, `charged`, `smp.microbench.model_of`), and
        ``save`` writes it to a file.

    Raises
    ------
    ProfileError
        The name is not in `PUBLISHED`.

    Examples
    --------
    >>> there = published_machine("SGI Power Challenge")
    >>> there.processors
    [2, 4, 8, 12]
    >>> print(f"{there.predict('bad', 8, 100_000, 50_000, 600_000)[0] * 1e3:.1f} ms")
    168.0 ms
    """
    if name not in PUBLISHED:
        raise ProfileError(f"no cost functions of {name!r} were published; choose one of: {', '.join(PUBLISHED)}")
    access = {
        "word_bytes": WORD_BYTES,
        "line_words": LINE_BYTES // WORD_BYTES,
        "tiers": TIERS,
        "private_words": CACHE_WORDS,
        "processors": list(PROCESSORS),
        "functions": [*paper_functions(), *(_all(p) for p in PROCESSORS)],
        "validation": [row | {"count": _patterns(row)} for p in PROCESSORS for row in paper_errors(p)],
        "patterns": [],
        "valid": True,
        "why": [],
    }
    head = {"format": FORMAT, "version": VERSION, "created": f"{STUDY}, as printed", "machine": MACHINE}
    return PublishedProfile(deepcopy(head | {"access": access}))


def opened(source: str | os.PathLike[str]) -> Profile:
    """Return the profile of a published machine by its name, or otherwise the profile in a file or folder."""
    name = os.fspath(source)
    return published_machine(name) if name in PUBLISHED else Profile.load(name)


def _all(p: int) -> dict[str, Any]:
    return {
        "family": "good",
        "p": p,
        "name": "HrHwM-c",
        "set": "all",
        "fit_suite": 1,
        "terms": list(ALL_TERMS),
        "coefficients": [us / 1e6 for us in ALL[p]],
        "source": ALL_SOURCE,
    }


def _patterns(row: dict[str, Any]) -> int:
    """Return the number of patterns behind an error, by section 4.1; only about right for suite 3, which draws h."""
    below, up_to = {"R0": (0.0, CACHE_WORDS), "R1": (CACHE_WORDS, math.inf), "all": (0.0, math.inf)}[row["set"]]
    each: int = 3 * (row["p"] - 1) + (row["suite"] == 1)  # x = p was measured in suite 1
    return each * sum(below < h <= up_to for h in sizes("full"))
