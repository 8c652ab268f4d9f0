"""Measure cycles under contention on this computer, in rounds, next to their prediction from a profile.

    round      for each number of processors, one run: pairs of bursts for all amounts of work
    run        a look at the CPUs' placement │ bursts │ a look; bursts of another state than the main one do not count

The work that a prediction begins with is measured in the bursts of work alone, next to those of whole cycles.  The
other parameters are those of the profile, which was measured before, so that nothing is fitted to the times that are
predicted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._computer.system import affinity, stolen_ns
from smp._runtime.kinds import host
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.result import summarise
from smp.microbench.method.windows import Windows, mark_moved, per_operation
from smp.models.placement_log import PlacementLog
from smp.profiles.contention import contention_parameters
from smp.profiles.profile import Profile

from . import predicted
from .programs import PADDED, Setting, Stamps, at_one_word
from .rows import Contended, Contention

STEPS = (0, 40, 160, 640)
"""Steps of work in a cycle; a step takes about a nanosecond."""
BURST_NS, STEP_NS, ACCESS_NS = 150_000, 1, (15, 60)
"""Length that a burst aims at, and about what a step takes, and an addition: without work before it, and with it."""
PAIRS = 3
"""Pairs of bursts for each amount of work in a run."""
ROUNDS = 12


def measure_contention(
    profile: Profile, processors: Sequence[int] = (), *, rounds: int = ROUNDS, log: PlacementLog | None = None
) -> Contention:
    """Measure processors that add to one word on this computer, next to the times that LoPC predicts from a profile.

    Parameters
    ----------
    profile : Profile
        A profile of this computer with the section ``synchronisation``.
    processors : sequence of int
        Numbers of processors, at most the number of CPUs; by default 1, 2, 4, ... up to that.
    rounds : int
        Number of rounds; each has 3 pairs of bursts for each amount of work.
    log : PlacementLog, optional
        Readings of the CPUs' placement so far, to which those of this measurement are added.

    Returns
    -------
    Contention
        When printed, it is a table.

    Raises
    ------
    ProfileError
        If the profile lacks the parameters; the message names the command that measures them.
    ValueError
        If there are fewer CPUs than processors.

    Examples
    --------
    In about a second on 2 CPUs::

        print(smp.microbench.measure_contention(smp.Profile.find()))
    """
    cpus = len(usable_cpus())
    counts = tuple(processors) or tuple(2**k for k in range(cpus.bit_length()))
    if wrong := [p for p in counts if not 1 <= p <= cpus]:
        raise ValueError(
            f"{wrong[0]} processors cannot be measured at one word: this process may use {cpus} CPU{'s' * (cpus != 1)}"
            ", and processors that take turns on a CPU do not meet; give numbers from 1 to that"
        )
    latency, occupancy = contention_parameters(profile.data)
    log, timer_ns = log or PlacementLog(), timer_cost()
    rows = [row(taken, profile) for p in counts for taken in _at_one_word(p, rounds, timer_ns, log)]
    states = [(state.ns * 1e-9, state.share) for state in log.placement(max(counts)).states] if max(counts) > 1 else []
    return Contention(tuple(rows), latency, occupancy, tuple(states))


@dataclass
class Taken:
    """The windows of work alone and of whole cycles, at one setting, and the additions after another processor's."""

    what: str
    processors: int
    setting: Setting
    work: list[Windows] = field(default_factory=list)
    whole: list[Windows] = field(default_factory=list)
    moved: int = 0


def row(taken: Taken, profile: Profile) -> Contended:
    """Return what the windows of one setting show, next to the prediction."""
    key, whole = (taken.what, taken.processors), np.concatenate(taken.whole)
    alone = summarise((*key, "work"), np.concatenate(taken.work), "median") if taken.setting.steps else None
    found, work = summarise(key, whole, "median"), alone.median * 1e-9 if alone else 0.0
    clean = whole[whole["flags"] == 0]
    low, high = 1e-9 * np.percentile(per_operation(clean if clean.size else whole), (25, 75))
    expected = predicted.at_one_word(profile.data, taken.processors, work)
    return Contended(
        *(*key, work, found.median * 1e-9, float(low), float(high), expected.logp, expected.lopc),
        moved=taken.moved / int(whole["operations"].sum()),
        why=tuple(dict.fromkeys((alone.why if alone else []) + found.why)),
    )


def _at_one_word(p: int, rounds: int, timer_ns: float, log: PlacementLog) -> list[Taken]:
    """Take the windows of all settings."""
    settings = [Setting(steps, int(BURST_NS / (STEP_NS * steps + ACCESS_NS[steps > 0]))) for steps in STEPS]
    found = [Taken("word", p, setting) for setting in settings]
    with host(p, pin=measuring_cpus(p)) as machine:
        words = machine.zeros(PADDED, np.int64)
        machine.run(at_one_word, words, [Setting(1, 1)], 1)
        for turn in range(rounds):
            before = stolen_ns(affinity()) or 0
            run = machine.run(at_one_word, words, settings, PAIRS)
            stolen = (stolen_ns(affinity()) or 0) - before
            log.note(p, time.monotonic(), run.placement)
            for index, taken in enumerate(found):
                work, whole = windows_of([stamps[index] for stamps, _ in run.results], timer_ns, turn, stolen)
                for windows, into in ((work, taken.work), (whole, taken.whole)):
                    windows["placed_before_ns"], windows["placed_after_ns"] = run.placement
                    into.append(windows)
                taken.moved += sum(int(moved[index]) for _, moved in run.results)
    if p > 1:
        for windows in (windows for taken in found for windows in taken.work + taken.whole):
            mark_moved(windows, log.placement(p))
    return found


def windows_of(stamps: Sequence[Stamps], timer_ns: float, turn: int, stolen: int) -> tuple[Windows, Windows]:
    """Return the windows of work alone and of whole cycles, from the stamps of all processors at one setting."""
    work, whole = (
        together([side[:, k].copy().view(SPAN)[:, 0] for side in stamps], timer_ns, turn, stolen) for k in (0, 1)
    )
    return work, whole
