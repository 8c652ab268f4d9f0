"""Begin and run a measurement, with its progress, and the messages before and after it.

look: is the computer busy?  ─▶  measure, with progress  ─▶  look again  ─▶  which sections are missing?
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .._computer.commands import interruptible
from .._computer.limits import usable_cpus
from .._output.progress import shown_on
from .._runtime.loops.code_folder import cache_folder
from ..errors import ProfileError
from ..profiles.profile import Profile
from ..profiles.published import PublishedProfile
from .campaign import Campaign, make_plan
from .method.plan import PlanError
from .method.ranks import ranks_of
from .sections import SECTIONS
from .specification_file import requested, told

BUSY = (
    "wait until it is quiet, leave CPUs to the other programs with -p, or limit the time with --budget; the "
    "measurement starts all the same, and disturbed results are marked as not valid"
)


def begun(
    mode: str,
    only: Sequence[str],
    folder: Path,
    talk: Console,
    *,
    machine: tuple[str, int | None],
    hosts: str | None,
    launcher: Sequence[str],
    processors: Sequence[int],
    seed: int,
    word_bytes: int,
    base: Profile | None,
    budget_s: float | None,
    name: str | None,
    specification: str | os.PathLike[str] | None = None,
) -> Campaign:
    """Return the campaign of a measurement, ready for `measure`; the options are those of the command.

    A specification file replaces ``mode``, ``only`` and ``processors``, and what else it states.

    Raises
    ------
    ProfileError
        If measurements cannot be added to the profile ``base``.
    PlanError
        If the specification file is not valid, or names a section of another kind of machine.
    OSError
        If the folder cannot be written.
    """
    kind, size = machine
    if isinstance(base, PublishedProfile):
        raise ProfileError(f"measurements of this computer cannot be added to {base!r}: leave out --only")
    if base is not None and base.kind != kind:
        raise ProfileError(
            f"measurements of the kind {kind!r} cannot be added to {base!r}, which is of the kind {base.kind!r}: leave "
            "out --profile, or measure the same kind of machine"
        )
    request = None
    if specification is not None:
        request = requested(specification)
        mode, only, processors = request.mode, tuple(request.sections), request.processors
        seed, word_bytes = request.seed, request.word_bytes
        budget_s = request.budget_s if budget_s is None else budget_s
        for wanted in only:
            if SECTIONS[wanted].machine != kind:
                raise PlanError(f"{specification} asks for {wanted}, which is not measured on a machine of {kind!r}")
        talk.print(told(request), markup=False, highlight=False)
    folder.mkdir(parents=True, exist_ok=True)  # a folder that cannot be written fails before the work
    ranks = None if kind == "host" else ranks_of(size, hosts, launcher)
    chosen = tuple(processors) or (default_processors() if ranks is None else (ranks.size,))
    if not any(cache_folder().glob("core-*")):
        talk.print("first run on this computer: compiling the loops takes up to a minute more")
    campaign = Campaign(make_plan(mode, chosen, seed, word_bytes, ranks), base, budget_s, name, request)
    sections = tuple(only) or tuple(name for name, section in SECTIONS.items() if section.machine == kind)
    if done := campaign.begin(sections, folder):
        talk.print(
            f"resuming the measurement of {campaign.profile.data['created']}, which is not complete: "
            f"{', '.join(done)} done; remove {folder / 'profile.json'} to measure everything again",
            highlight=False,
        )
    return campaign


def default_processors() -> tuple[int, ...]:
    """Return the powers of two up to the number of CPUs that this process may use."""
    return tuple(1 << k for k in range(len(usable_cpus()).bit_length()))


def measure(campaign: Campaign, talk: Console) -> None:
    """Run a measurement; report disturbances before it, its progress, and the sections still missing at the end.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the campaign holds the results so far.
    """
    if busy := campaign.look("before"):
        talk.print(f"the computer is busy: {'; '.join(busy)}", style="yellow", markup=False, highlight=False)
        talk.print(BUSY, highlight=False)
    with interruptible(), shown_on(talk) as progress:
        campaign.measure(progress, progress.ended)
    campaign.look("after")
    if missing := campaign.missing:
        talk.print(
            f"{campaign.budget_s:g} s were not enough; not measured, or only in part: {', '.join(missing)}; "
            "run the same command again to continue",
            highlight=False,
        )
