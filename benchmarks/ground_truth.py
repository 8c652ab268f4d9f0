"""Compare predicted gains with true ones: in virtual time a place can really be made faster.

    python benchmarks/ground_truth.py [--programs 100] [--balanced 100] [--seed 0] [--treatment 50%] [--repeats 32]
                                      [--replicates 192] [--less 0.1] [--jobs 2]

Random programs (``random_programs``), and then balanced ones (``balanced_programs``), are screened by the default
design with three replicates. A gain is predicted for each place. Then each place is really freed of 10, 25, 50 and 100%
of its work: the true gain is the decrease of the run time, the mean of several runs. For comparison, gains are also
predicted by the design "speedup", which delays all places, and all but one, from delaying one place at a time, with as
many runs, and from a profile, which is the time in each place. Passes that are stretched by 11, 33, 100 and 900% show
in slow motion a place that is freed of 10, 25, 50 and 90% of its work: with as many runs as the screening has, and with
192 replicates. One row has delays of the mean of a pass instead. The last row compares the true gains with those of
other runs of the same kind: no prediction can be better. For each share of the work the output shows, over the
programs,

    rank      mean, median and least of the rank correlation (Spearman) of predicted and true gains of the places
    best in 2, best    share of programs whose truly best place is predicted first or second, and first

A place whose effect is not significant is predicted to gain nothing. A gain of less than a hundredth of the run counts
as none, predicted or true. Programs in which no place has a true gain are left out.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from balanced_programs import balanced
from random_programs import Program, Stage, drawn, spmd
from scipy.stats import spearmanr

from smp.perturb import Busy, Treatment, Trials, screen
from smp.perturb.analysis.speedups import gains, gains_of_speedup
from smp.perturb.experiments.observed import OnMachine

SLOWER = {0.1: "11%", 0.25: "33%", 0.5: "100%", 1.0: "900%"}
"""Stretches of the design "speedup" for shares of the work; the last is for a place that takes a tenth of its time."""
SHARES = tuple(SLOWER)
REPLICATES = 3
SIGMAS = 3.0
MANY = 192
"""Replicates of the design "speedup" in its second rows."""
AGAIN = "true gains of other runs"
LEAST = 0.01
"""Share of the run time below which a gain counts as none."""
_TRUTH = 1 << 40  # first seed of the runs that give the true gains; none of them is a trial
Gains = dict[str, float]


class Verdict(NamedTuple):
    """Quality of one prediction."""

    rank: float
    """Rank correlation; 0 if all predicted gains, or all true ones, are equal."""
    place: int
    """Number of places that are predicted to gain at least as much as the truly best one, including that one."""


def verdict(predicted: Mapping[str, float], true: Mapping[str, float]) -> Verdict:
    """Compare the predicted and true gains of one program's places."""
    told = np.array([predicted[name] for name in true])
    real = np.array(list(true.values()))
    rank = float(spearmanr(told, real).statistic) if np.ptp(told) and np.ptp(real) else 0.0
    return Verdict(rank, int((told >= told[real.argmax()]).sum()))


class Case(NamedTuple):
    """A program, the predicted gains of its places, and the true ones."""

    program: Program
    predicted: dict[str, Gains]
    """Predicted gains from all of a place's work, by method."""
    true: dict[float, Gains]
    """True gains, by share of the work."""
    again: dict[float, Gains]
    """The same from other runs."""
    run: float
    """Mean time of a run."""

    def verdict(self, method: str, share: float) -> Verdict:
        """Return the quality of a method's predictions for a share of the work."""
        if method == AGAIN:
            found = self.again[share]
        else:
            found = {name: share * gain for name, gain in self.predicted[method].items()}
        return verdict(self._worth(found), self._worth(self.true[share]))

    def gains_something(self, share: float) -> bool:
        """Return True if a place would gain something."""
        return any(self._worth(self.true[share]).values())

    def _worth(self, gains: Gains) -> Gains:
        return {name: gain if gain > LEAST * self.run else 0.0 for name, gain in gains.items()}


def run_time(stage: Stage, seed: int, faster: Mapping[str, float], treatments: Mapping[str, Treatment]) -> float:
    """Return the seconds of virtual time of one run."""
    arguments = stage.arguments(seed, dict(faster))
    return OnMachine(stage.machine, spmd, arguments).trial(treatments).time


def true_gains(stage: Stage, shares: tuple[float, ...], seeds: range) -> dict[float, Gains]:
    """Return the mean decrease of the run time when a place is freed of a share of its work, by share and place."""
    as_it_is = np.array([run_time(stage, seed, {}, {}) for seed in seeds])

    def gain(name: str, share: float) -> float:
        faster = np.array([run_time(stage, seed, {name: share}, {}) for seed in seeds])
        return float((as_it_is - faster).mean())

    return {share: {name: gain(name, share) for name in stage.program.names} for share in shares}


def by_speedup(trials: Trials, replicates: int) -> Gains:
    """Return the gains by the first replicates of the design "speedup"."""
    spent = {name: met.inside / met.by for name, met in trials.met.items()}
    rows = gains_of_speedup(trials.plan.factors, trials.responses()[:replicates], trials.delayed(), spent)
    return {row.factor: row.gain if row.significant else 0.0 for row in rows}


def by_screening(trials: Trials, single: bool = False) -> Gains:
    """Return the gains that `Trials.gains` predicts; with ``single``, from each place's effect with no other delay."""
    spent = {name: met.inside / met.by for name, met in trials.met.items()}
    rows = gains(trials.analyse(), trials.delayed(), spent, single)
    return {row.factor: row.gain if row.significant else 0.0 for row in rows}


def one_at_a_time(stage: Stage, trials: Trials, seeds: Iterator[int]) -> Gains:
    """Return the gains predicted from as many runs as there are trials, each with one place delayed or none."""
    treatments = {name: ladder[-1] for name, ladder in trials.plan.treatments.items() if ladder[-1] is not None}
    settings: list[dict[str, Treatment]] = [{}, *({name: one} for name, one in treatments.items())]
    repeats = len(trials.table) // len(settings)
    times = np.array([[run_time(stage, next(seeds), {}, each) for each in settings] for _ in range(repeats)])
    uncertainty = float(np.sqrt(times.var(axis=0, ddof=1).mean() * 2 / repeats))
    effects = (times[:, 1:] - times[:, :1]).mean(axis=0)
    found = {}
    for name, effect in zip(treatments, effects.tolist(), strict=True):
        gain = effect / trials.delayed()[name] * trials.met[name].inside / trials.met[name].by
        found[name] = gain if abs(effect) > SIGMAS * uncertainty else 0.0
    return found


def studied(
    seed: int,
    treatment: str,
    repeats: int,
    shares: tuple[float, ...] = SHARES,
    draw: Callable[[int], Program] = drawn,
    many: int = MANY,
) -> Case:
    """Draw a program, predict its gains in every way, and find the true ones."""
    program = draw(seed)
    seeds = itertools.count(seed << 20)
    with Stage(program) as stage:

        def screened(
            treatments: str | Mapping[str, Treatment], design: str | None = None, replicates: int = REPLICATES
        ) -> Trials:
            return screen(
                spmd,
                design,
                treatment=treatments,
                factors=program.names,
                arguments=lambda: stage.arguments(next(seeds)),
                machine=stage.machine,
                replicates=replicates,
            )

        trials = screened(treatment)
        as_many = max(2, len(trials.table) // (len(program.names) + 1))
        lengths = [trials.lengths[name][-1] for name in program.names]
        same = screened(dict.fromkeys(program.names, Busy(round(float(np.mean(lengths)) * 1e9))))
        stretched = {}
        for slower in map(SLOWER.__getitem__, shares):
            found = screened(f"stretch:{slower}", "speedup", max(many, as_many))
            stretched[f"speedup, stretched by {slower}"] = by_speedup(found, as_many)
            stretched[f"  {slower}, {many} replicates"] = by_speedup(found, many)
        predicted = {
            f"screening, {treatment} of a pass": by_screening(trials),
            "  from effects alone": by_screening(trials, single=True),
            "screening, one delay for all": by_screening(same),
            "one place at a time": one_at_a_time(stage, trials, seeds),
            "speedup, 100% of a mean pass": by_speedup(screened("100%", "speedup", as_many), as_many),
            **stretched,
            "profile": {name: trials.met[name].inside for name in program.names},
        }
        first = _TRUTH + (seed << 20)
        true, again = (true_gains(stage, shares, range(k, k + repeats)) for k in (first, first + repeats))
        run = float(np.mean([run_time(stage, first + k, {}, {}) for k in range(repeats)]))
    return Case(program, predicted, true, again, run)


def table(cases: list[Case]) -> str:
    """Return a table of the quality of each method's predictions, by share of the work."""
    methods, shares = [*cases[0].predicted, AGAIN], list(cases[0].true)
    lines = []
    for share in shares:
        some = [case for case in cases if case.gains_something(share)]
        if not some:
            continue
        of = f"{share:.0%} of its work less, {len(some)} programs"
        lines.append(f"{of:<38}{'rank: mean  median   least':>26}{'best in 2':>12}{'best':>7}")
        for method in methods:
            found = [case.verdict(method, share) for case in some]
            ranks, places = (np.array(column) for column in zip(*found, strict=True))
            lines.append(
                f"{method:<38}{ranks.mean():>12.3f}{np.median(ranks):>8.3f}{ranks.min():>8.2f}"
                f"{(places <= 2).mean():>11.0%}{(places == 1).mean():>8.0%}"
            )
        lines.append("")
    return "\n".join(lines)


def about(cases: list[Case]) -> str:
    """Return the kinds of places in these programs, and how many places were predicted to gain nothing."""
    places = [place for case in cases for place in case.program.places]
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(place.kind for place in places).most_common())
    nothing = sum(gain == 0 for case in cases for gain in next(iter(case.predicted.values())).values())
    return f"{len(cases)} programs, {len(places)} places: {kinds}; {nothing} of them predicted to gain nothing"


def studied_all(draw: Callable[[int], Program], seeds: range, asked: argparse.Namespace) -> list[Case]:
    """Study programs in separate processes; on Ctrl-C, return the cases that are done."""
    cases: list[Case] = []
    shares = tuple(share for share in SHARES if asked.less in (None, share))
    one = partial(
        studied,
        treatment=asked.treatment,
        repeats=asked.repeats,
        shares=shares,
        draw=draw,
        many=asked.replicates,
    )
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(asked.jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            for case in pool.imap(one, seeds):
                cases.append(case)
                print(f"{len(cases)} of {len(seeds)}, {time.monotonic() - began:.0f} s", end="\r", file=sys.stderr)
        except KeyboardInterrupt:
            pool.terminate()
    print(file=sys.stderr)
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument(
        "--balanced", type=int, default=100, help="programs whose parallel parts take about the same time"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--treatment", default="50%", help="share of the mean time of a pass")
    parser.add_argument("--repeats", type=int, default=32, help="runs that are averaged for a true gain")
    parser.add_argument(
        "--replicates", type=int, default=MANY, help='replicates of the design "speedup" in its second rows'
    )
    parser.add_argument(
        "--less",
        type=float,
        choices=SHARES,
        help="share of the work that is taken away; by default each of them",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    for draw, count in ((drawn, given.programs), (balanced, given.balanced)):
        seeds = range(given.seed, given.seed + count)
        cases = studied_all(draw, seeds, given)
        if cases:
            print(about(cases), table(cases), sep="\n\n")


if __name__ == "__main__":
    main()
