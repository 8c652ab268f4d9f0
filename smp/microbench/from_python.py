"""`measure`: the measurement of ``smp measure`` as a function."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from ..profiles.profile import Profile
from .measuring import begun
from .measuring import measure as measure_all
from .sections import SECTIONS


def measure(
    *,
    quick: bool = False,
    full: bool = False,
    only: Iterable[str] = (),
    budget: float | None = None,
    processors: Iterable[int] = (),
    mpi: int | None = None,
    hosts: str | None = None,
    launcher: Sequence[str] = (),
    out: str | os.PathLike[str] = "smp-report",
    name: str | None = None,
    word_bytes: int = 8,
    seed: int = 1,
    specification: str | os.PathLike[str] | None = None,
) -> Profile:
    """Measure what shared memory costs on this computer, and return the profile.

    Progress is shown on the standard error: as a bar in a terminal, otherwise as lines.

    Parameters
    ----------
    quick, full : bool
        Coarse grids, about 45 seconds on 2 CPUs, or the complete grids of the papers, about 20 minutes. By default, a
        measurement takes four minutes.
    only : iterable of str
        Names of sections to measure, such as "latency"; all by default.
    budget : float, optional
        Seconds after which the measurement stops. The most important sections are then measured first.
    processors : iterable of int
        Numbers of processors; by default powers of two up to the number of CPUs.
    mpi : int, optional
        Measure a machine of MPI with this number of processors instead.
    hosts, launcher
        As for `smp.mpi`, for a machine of MPI.
    out : path
        Folder for ``profile.json`` and ``samples.npz``. If it has an interrupted measurement with the same arguments,
        that is continued.
    name : str, optional
        Name of the computer in the profile.
    word_bytes : {4, 8}
        Bytes of a word of the access patterns.
    seed : int
        Seed of all random choices.
    specification : path, optional
        A specification file, which says what to measure with which parameters, instead of ``quick``, ``full``,
        ``only``, ``processors``, ``word_bytes`` and ``seed``.

    Returns
    -------
    Profile
        Also kept for `Profile.find`, if it has cost functions.

    Raises
    ------
    ValueError
        If arguments do not go together, or a name is not one of a section.
    KeyboardInterrupt
        On Ctrl-C, after what was measured has been saved. The same call continues the measurement.
    OSError
        If the folder cannot be written.
    PlanError
        If the specification file is not valid.

    Examples
    --------
    A quick measurement of the costs of barriers, in about two seconds::

        profile = smp.measure(quick=True, only=["synchronisation"])
        print(profile.section("synchronisation").barrier_us)
    """
    kind, names, counts = "host" if mpi is None else "mpi", tuple(only), tuple(processors)
    if quick and full:
        raise ValueError("quick and full are both set: choose one of them")
    if word_bytes not in (4, 8):
        raise ValueError(f"word_bytes must be 4 or 8, not {word_bytes}")
    if mpi is None and (hosts or launcher):
        raise ValueError("hosts and launcher go only with mpi: give the number of its processors")
    if mpi is not None and counts:
        raise ValueError(f"a machine of MPI has {mpi} processors: leave processors out")
    if budget is not None and not budget > 0:
        raise ValueError(f"budget must be a number of seconds above 0, not {budget}")
    for wanted in names:
        of = SECTIONS[wanted].machine if wanted in SECTIONS else ""
        if of != kind:
            known = ", ".join(one for one, section in SECTIONS.items() if section.machine == kind)
            raise ValueError(f"no section {wanted!r} of a machine of the kind {kind!r}: choose from {known}")
    if specification is not None and (quick or full or names or counts or word_bytes != 8 or seed != 1):
        raise ValueError("quick, full, only, processors, word_bytes and seed do not go with a specification file")
    talk = Console(stderr=True)
    campaign = begun(
        "quick" if quick else "full" if full else "default",
        names,
        Path(out),
        talk,
        machine=(kind, mpi),
        hosts=hosts,
        launcher=launcher,
        processors=counts,
        seed=seed,
        word_bytes=word_bytes,
        base=None,
        budget_s=budget,
        name=name,
        specification=specification,
    )
    try:
        measure_all(campaign, talk)
    finally:
        campaign.save()
    return campaign.profile
