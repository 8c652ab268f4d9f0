"""Compare optimised parameters with neighbouring values: every parameter that a model sets in the shipped libraries.

    python benchmarks/parameters.py [sort] [lists] [stencil] [--cases 100] [--calibration FILE] [--out FILE]

Each case has random data.  The value that the model finds best is timed in turn with the next smaller and the next
larger value that make sense.  It is right if no neighbour is faster by more than 2% and by more than the noise.
Libraries without kept models are calibrated first.  Ctrl-C prints the results so far.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import smp
from smp.microbench.calibration.kernels import KERNELS, libraries
from smp.selection.library import Library
from smp.selection.neighbours import ParameterTrial, parameters, try_parameter
from smp.selection.trial import Case


def progress(done: float, text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{done:4.0%}  {text}"[:120], end="", file=sys.stderr, flush=True)


def calibrated(kernels: Sequence[str], file: Path | None) -> list[Library]:
    """Return the kernels' libraries that have a parameter, with models from a file, kept ones, or new ones."""
    given = {} if file is None else json.loads(file.read_text(encoding="utf-8"))["libraries"]
    found = [library for library in libraries(kernels) if any(parameters(library))]
    for library in found:
        if library.name in given:
            library.use_json(given[library.name])
        elif not library.models:
            smp.calibrate(library, progress=progress)
    return found


def row(*columns: str) -> None:
    print(f"{columns[0]:<56}" + "".join(f"{column:>12}" for column in columns[1:]), flush=True)


def tell(trial: ParameterTrial) -> None:
    if not trial.cases:
        return row(trial.name, "0")
    typical, worst = trial.losses
    shares = (f"{share:.1%}" for share in (trial.right, trial.within, typical, worst))
    row(trial.name, str(len(trial.cases)), *shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernels", nargs="*", choices=[*KERNELS, []], default=[], help="by default all")
    parser.add_argument("--cases", type=int, default=100, help="cases of each parameter (default 100)")
    parser.add_argument("--seed", type=int, default=3, help="seed of the cases (default 3)")
    parser.add_argument("--calibration", type=Path, help="calibration.json with the models to use")
    parser.add_argument("--out", type=Path, help="file to write all cases to, as JSON")
    options = parser.parse_args()
    kept: dict[str, list[Case]] = {}
    try:
        chosen = calibrated(options.kernels or list(KERNELS), options.calibration)
        row("parameter", "cases", "right", "within 2%", "median loss", "worst loss")
        for library in chosen:
            for name, parameter in parameters(library):
                cases = kept.setdefault(f"{library.name}/{name}: {parameter.name}", [])
                try:
                    try_parameter(library, name, options.cases, seed=options.seed, progress=progress, into=cases)
                finally:
                    progress(1.0, "")
                    tell(ParameterTrial(f"{library.name}/{name}: {parameter.name}", cases))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        if options.out is not None:
            made = {name: [asdict(case) for case in cases] for name, cases in kept.items()}
            options.out.write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
