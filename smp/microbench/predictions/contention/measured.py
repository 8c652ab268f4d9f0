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
from typing import Any

import numpy as np

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._computer.system import affinity, stolen_ns
from smp._runtime.kinds import host
from smp._runtime.program.run import Run
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.result import summarise
from smp.microbench.method.windows import Windows, mark_moved, per_operation
from smp.models.placement_log import PlacementLog
from smp.profiles.contention import contention_parameters, message_parameters
from smp.profiles.profile import Profile

from . import predicted
from .programs import PADDED, Setting, Stamps, at_one_server, at_one_word
from .rows import Contended, Contention

WORD, SERVER = "word", "server"
KINDS = (WORD, SERVER)
BURST_NS = {WORD: 150_000, SERVER: 400_000}
"""Length that a burst aims at."""
PAIRS = 3
"""Pairs of bursts for each amount of work in a run."""
ROUNDS = 12


@dataclass(frozen=True)
class Amount:
    """Steps of work in a cycle, each of which takes about a nanosecond, and about what the rest of the cycle takes."""

    steps: int
    rest_ns: int


AMOUNTS = {
    WORD: (Amount(0, 15), Amount(40, 60), Amount(160, 60), Amount(640, 60)),
    SERVER: (Amount(0, 3000), Amount(1000, 3000), Amount(4000, 3000), Amount(16_000, 3000)),
}


def measure_contention(
    profile: Profile,
    processors: Sequence[int] = (),
    *,
    only: Sequence[str] = KINDS,
    rounds: int = ROUNDS,
    log: PlacementLog | None = None,
) -> Contention:
    """Measure processors that contend on this computer, next to the times that LoPC predicts from a profile.

    Parameters
    ----------
    profile : Profile
        A profile of this computer with the sections ``synchronisation`` and ``messages``.
    processors : sequence of int
        Numbers of processors, at most the number of CPUs; by default 1, 2, 4, ... up to that.
    only : sequence of {"word", "server"}
        What the processors contend for, both by default. They add to one word, or all but one send requests to that
        one, from 2 processors up.
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
        If there are fewer CPUs than processors, or ``only`` has another name.

    Examples
    --------
    In a few seconds on 2 CPUs::

        print(smp.microbench.measure_contention(smp.Profile.find()))
    """
    cpus = len(usable_cpus())
    counts = tuple(processors) or tuple(2**k for k in range(cpus.bit_length()))
    if wrong := [p for p in counts if not 1 <= p <= cpus]:
        raise ValueError(
            f"{wrong[0]} processors cannot be measured: this process may use {cpus} CPU{'s' * (cpus != 1)}, and "
            "processors that take turns on a CPU do not meet; give numbers from 1 to that"
        )
    if unknown := [name for name in only if name not in KINDS]:
        raise ValueError(f"no contention for {unknown[0]!r}: choose from {', '.join(KINDS)}")
    known = {WORD: contention_parameters, SERVER: message_parameters}
    parameters = {name: known[name](profile.data) for name in only}
    log, timer_ns = log or PlacementLog(), timer_cost()
    taken = [each for p in counts for each in _visited(p, only, rounds, timer_ns, log)]
    rows = [row(each, profile) for name in only for each in taken if each.what == name]
    states = [(state.ns * 1e-9, state.share) for state in log.placement(max(counts)).states] if max(counts) > 1 else []
    return Contention(tuple(rows), parameters, tuple(states), _profiled(profile, only, max(counts)))


def _profiled(profile: Profile, only: Sequence[str], p: int) -> float | None:
    """Return the hand-off of a line, in seconds, in the main placement of p processors that a profile has."""
    section: dict[str, Any] = profile.data["synchronisation" if WORD in only else "messages"]
    states = (section.get("placement") or {}).get(str(p))
    return states[0]["ns"] * 1e-9 if states else None


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
    key, whole, at_word = (taken.what, taken.processors), np.concatenate(taken.whole), taken.what == WORD
    # without steps, a compiled loop is empty; a program in Python still makes its calls
    worked = taken.setting.steps > 0 or not at_word
    alone = summarise((*key, "work"), np.concatenate(taken.work), "median") if worked else None
    found, work = summarise(key, whole, "median"), alone.median * 1e-9 if alone else 0.0
    clean = whole[whole["flags"] == 0]
    low, high = 1e-9 * np.percentile(per_operation(clean if clean.size else whole), (25, 75))
    expect = predicted.at_one_word if at_word else predicted.at_one_server
    expected = expect(profile.data, taken.processors, work)
    return Contended(
        *(*key, work, found.median * 1e-9, float(low), float(high), expected.logp, expected.lopc),
        moved=taken.moved / int(whole["operations"].sum()) if at_word else None,
        why=tuple(dict.fromkeys((alone.why if alone else []) + found.why)),
    )


def _visited(p: int, only: Sequence[str], rounds: int, timer_ns: float, log: PlacementLog) -> list[Taken]:
    """Take the windows of all settings on a machine of p processors; a server needs a client."""
    settings = {
        name: [Setting(one.steps, BURST_NS[name] // (one.steps + one.rest_ns)) for one in AMOUNTS[name]]
        for name in only
        if name == WORD or p > 1
    }
    found = {name: [Taken(name, p, setting) for setting in each] for name, each in settings.items()}
    if not found:
        return []
    with host(p, pin=measuring_cpus(p)) as machine:
        words = machine.zeros(PADDED, np.int64)

        def burst(name: str, each: list[Setting], pairs: int) -> Run:
            if name == WORD:
                return machine.run(at_one_word, words, each, pairs)
            return machine.run(at_one_server, each, pairs)

        for name in found:
            burst(name, [Setting(1, 1)], 1)
        for turn in range(rounds):
            for name, each in found.items():
                before = stolen_ns(affinity()) or 0
                run = burst(name, settings[name], PAIRS)
                stolen = (stolen_ns(affinity()) or 0) - before
                log.note(p, time.monotonic(), run.placement)
                for index, taken in enumerate(each):
                    work, whole = windows_of([stamps[index] for stamps, _ in run.results], timer_ns, turn, stolen)
                    for windows, into in ((work, taken.work), (whole, taken.whole)):
                        windows["placed_before_ns"], windows["placed_after_ns"] = run.placement
                        into.append(windows)
                    taken.moved += sum(int(moved[index]) for _, moved in run.results)
    every = [taken for each in found.values() for taken in each]
    if p > 1:
        for windows in (windows for taken in every for windows in taken.work + taken.whole):
            mark_moved(windows, log.placement(p))
    return every


def windows_of(stamps: Sequence[Stamps], timer_ns: float, turn: int, stolen: int) -> tuple[Windows, Windows]:
    """Return the windows of work alone and of whole cycles, from the stamps of all processors at one setting."""
    sides = [side for side in stamps if side[..., 3].any()]  # a server leaves its own empty
    work, whole = (
        together([side[:, k].copy().view(SPAN)[:, 0] for side in sides], timer_ns, turn, stolen) for k in (0, 1)
    )
    return work, whole
