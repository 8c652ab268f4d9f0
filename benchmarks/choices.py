"""Test the choices of the kernels' libraries: random cases, in which every implementation is timed.

    python benchmarks/choices.py [sort] [programs] [lists] [stencil] [--cases 500] [--calibration FILE] [--out FOLDER]
    python benchmarks/choices.py --regret [sort] [lists] [stencil] [--quick] [--cases 3] [--largest 1e6] [--apart 60]

A library holds several implementations of one interface, and chooses one by models of their times.  It is calibrated
first, unless its models are kept on this machine (``python -m smp.microbench --calibrate``).  With --calibration, the
models are those of the file instead; missing ones are calibrated and added to it.  A choice is right if it is the
fastest implementation or within 2% of it, by the median over rounds that time all of them in turn; see
`smp.selection.trial`.

With --regret, the public calls sort, argsort, rank_list and relax are timed instead, with "auto" and with each named
form, and relax also with each layout on a machine with a processor for each CPU; see `regrets`.  --quick takes one
small case of each kind of data, and calibrates nothing: without kept models, the calls follow their rules.  Progress
goes to the standard error.  Ctrl-C prints the results so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import regrets

import smp
from smp.selection.kept import document
from smp.selection.library import Library
from smp.selection.rounds import ratio
from smp.selection.trial import Case, Trial, try_library

SECTIONS = {
    "sort": "sorting.choice",
    "programs": "sorting.programs",
    "lists": "lists.choice",
    "stencil": "grids.choice",
}
"""Modules of `smp.kernels`, each with ``libraries()``."""


def chosen_libraries(sections: list[str]) -> Iterator[Library]:
    """Yield all libraries of the sections."""
    for section in sections:
        yield from importlib.import_module(f"smp.kernels.{SECTIONS[section]}").libraries()


def progress(share: float, what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{share:4.0%}  {what:<90.90}", end="", file=sys.stderr, flush=True)


def calibrate(libraries: list[Library], file: Path | None) -> None:
    """Give every library models: those of the file, or else new ones; without a file, kept ones or new ones."""
    kept: dict[str, Any] = json.loads(file.read_text())["libraries"] if file and file.exists() else {}
    for library in libraries:
        if library.name in kept:
            library.use_json(kept[library.name])
        elif file or not library.models:
            began = time.perf_counter()
            smp.calibrate(library, progress=progress)
            print(f"\r{library.name}: calibrated in {time.perf_counter() - began:.0f} s{'':<60}", flush=True)
            if file:
                kept[library.name] = document([library])["libraries"][library.name]
                file.write_text(json.dumps(document([]) | {"libraries": kept}))


def report(library: Library, trial: Trial) -> None:
    """Print the results of a trial."""
    print(f"\n{library.name}: {len(trial.cases)} cases")
    if not trial.cases:
        return
    print(
        f"  {'implementation':<24}{'chosen':>8}{'fastest':>9}{'gain over it alone':>21}{'largest':>9}{'model MRE':>12}"
    )
    gains = trial.gains()
    for name, (chosen, fastest) in trial.won().items():
        gain = f"{gains[name][0]:>21.3f}{gains[name][1]:>9.2f}" if name in gains else f"{'':>30}"
        print(f"  {name:<24}{chosen:>8}{fastest:>9}{gain}{library.models[name].quality.mre:>12.1%}")
    print(
        f"  right {trial.accuracy:.1%}, the very fastest {trial.fastest:.1%}; mean loss when wrong {trial.loss:.1%}, "
        f"worst {max(case.loss for case in trial.cases):.1%}; MRE of the chosen's predictions {trial.error():.1%}"
    )
    if trial.placement:
        print(f"  {trial.placement}")
    for case in sorted((case for case in trial.cases if not case.right), key=lambda case: -case.loss)[:10]:
        best = max(case.times, key=lambda name: ratio(case.times, case.chosen, name))
        inputs = ", ".join(f"{name} = {value:.4g}" for name, value in case.inputs.items())
        print(f"    {case.loss:>6.1%}  {case.chosen} instead of {best} at {inputs}", flush=True)


def save(folder: Path, trial: Trial) -> None:
    """Save a trial's cases as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in trial.library)
    cases = [
        vars(c) | {"times": {n: [None if t != t else t for t in ts] for n, ts in c.times.items()}} for c in trial.cases
    ]
    (folder / f"{name}.json").write_text(json.dumps({"library": trial.library, "cases": cases}))


def regret(sections: list[str], asked: argparse.Namespace) -> None:
    """Measure the regret of the public calls, and print what was measured even after Ctrl-C."""
    libraries = list(chosen_libraries(sections))
    if not asked.quick:
        calibrate(libraries, asked.calibration)
    without = [each.name for each in libraries if not each.models]
    print(f"by the rule, for want of models: {', '.join(without) or 'none'}", flush=True)
    rng, sizes = np.random.default_rng(asked.seed), (1e3, asked.largest or (1e5 if asked.quick else 1e6))
    cases = asked.cases or (1 if asked.quick else 3)
    apart = (2.0 if asked.quick else 60.0) if asked.apart is None else asked.apart
    found: list[regrets.Visited] = []
    try:
        with smp.host() as machine:
            for section in sections:
                found += map(regrets.Visited, regrets.problems(section, cases, sizes, rng, machine))
            placement = regrets.visit_all(found, apart, asked.seed, lines_of_progress())
    except KeyboardInterrupt:
        placement = "(stopped)"
    finally:
        if sys.stderr.isatty():
            print(f"\r{'':<98}\r", end="", file=sys.stderr, flush=True)
        for function in dict.fromkeys(each.problem.function for each in found):
            regrets.print_regrets(function, found)
        if asked.out:
            asked.out.mkdir(parents=True, exist_ok=True)
            kept = [{"function": v.problem.function, "case": v.problem.text, "visits": v.visits} for v in found]
            (asked.out / "regrets.json").write_text(json.dumps(kept).replace("NaN", "null"))
    if placement:
        print(f"\n{placement}")


def lines_of_progress() -> regrets.Show:
    """Return a function that shows progress: on a terminal always, and otherwise a line every ten seconds."""
    last = -1e9

    def show(share: float, text: str) -> None:
        nonlocal last
        if sys.stderr.isatty():
            progress(share, text)
        elif time.monotonic() > last + 10:
            last = time.monotonic()
            print(f"{share:4.0%}  {text}", file=sys.stderr, flush=True)

    return show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"some of {', '.join(SECTIONS)}; by default all")
    parser.add_argument(
        "--cases", type=int, help="random cases for each library (500), or with --regret for each kind of data (3)"
    )
    parser.add_argument("--seed", type=int, default=2, help="seed of the cases")
    parser.add_argument("--only", default="", help="only libraries whose name begins with this")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="models to use, or to make")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to keep the cases")
    parser.add_argument("--regret", action="store_true", help="time the public calls against the named forms")
    parser.add_argument("--quick", action="store_true", help="regret of one small case of each kind, in minutes")
    parser.add_argument("--largest", type=float, metavar="N", help="with --regret, most keys, nodes or cells (1e6)")
    parser.add_argument("--apart", type=float, metavar="S", help="with --regret, least seconds between visits (60)")
    asked = parser.parse_args()
    if wrong := set(asked.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(wrong))}; there are {', '.join(SECTIONS)}")
    if asked.regret:
        if "programs" in asked.sections:
            parser.error("programs run on a machine, and have no regret of a public call: leave programs out")
        return regret(asked.sections or [each for each in SECTIONS if each != "programs"], asked)
    if asked.quick or asked.largest is not None or asked.apart is not None:
        parser.error("--quick, --largest and --apart go with --regret: add it")
    libraries = [
        each for each in chosen_libraries(asked.sections or list(SECTIONS)) if each.name.startswith(asked.only)
    ]
    calibrate(libraries, asked.calibration)
    for library in libraries:
        cases: list[Case] = []
        done: Trial | None = None
        try:
            done = try_library(library, asked.cases or 500, seed=asked.seed, progress=progress, into=cases)
        except KeyboardInterrupt:
            print("\r(stopped)", end="")
            return
        finally:
            trial = done or Trial(library.name, cases)
            report(library, trial)
            if asked.out:
                save(asked.out, trial)


if __name__ == "__main__":
    main()
