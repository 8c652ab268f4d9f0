"""The command ``python -m smp.microbench``: the only module of `smp.microbench` that writes to the standard output.

Exit codes are 0 for success, 2 for wrong usage, 3 if a comparison found a figure that is slower than --fail-above
allows, 130 if interrupted (the results so far are saved), and 1 otherwise.  `smp._computer.commands` turns them into
the exit status of the process.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from .._computer.commands import interruptible
from .._computer.facts import gather
from .._computer.limits import usable_cpus
from .._computer.version import VERSION
from .._output import delimited, markdown, terminal
from .._output.table import Part
from .._runtime.loops.code_folder import cache_folder
from .._runtime.program.processor import MOST
from ..errors import ProfileError, SmpError
from ..models.fit.fitting import ModelWarning
from ..profiles.profile import Profile, ProfileWarning
from ..profiles.published import PUBLISHED, PublishedProfile, opened
from .calibration.kernels import KERNELS, NAMES, Calibration
from .calibration.kernels import load as load_models
from .campaign import Campaign, make_plan
from .measuring import add_options, check_machine, measure
from .method.ranks import ranks_of
from .method.samples import samples_of
from .predictions.programs import known_kernels
from .progress import shown_on
from .report import whole_report as report
from .report.facts import part as computer
from .sections import SECTIONS

WIDTH = 100  # columns of a report that is printed to a file
MOST_NAMES = 30  # most files that are listed by name; if there are more, the plots are only counted

EXAMPLES = """
examples:
  python -m smp.microbench --quick             45 seconds: every answer, roughly
  python -m smp.microbench                     four minutes: answers to rely on
  python -m smp.microbench --full -p 1,2,4,8   the complete grids of the papers
  python -m smp.microbench --only latency,lists
  python -m smp.microbench --budget 60         what fits into a minute, the most important sections first
  python -m smp.microbench --profile smp-report/profile.json            print it again, measure nothing
  python -m smp.microbench --profile smp-report/profile.json --only sorting   sort again, with its cost functions
  python -m smp.microbench --quick --json | jq .access.functions
  python -m smp.microbench --profile smp-report --csv > report.csv            its tables, with all digits
  python -m smp.microbench --calibrate         some minutes: the models by which sort, rank_list and relax choose
  python -m smp.microbench --calibrate messages     about a minute: what collectives, messages and blocks cost
  python -m smp.microbench --models smp-report/calibration.json         print them again, measure nothing
  python -m smp.microbench --machine mpi:8 --hosts a:4,b:4              a machine of MPI on two computers
"""


def _processors(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers such as 1,2,4") from None
    wrong = [n for n in numbers if not 1 <= n <= MOST]
    if wrong:
        raise argparse.ArgumentTypeError(f"the number of processors must be from 1 to {MOST}, not {wrong[0]}")
    return numbers


def _sections(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"no section {name!r}: choose from {', '.join(SECTIONS)}")
    return names


def _kernels(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"no kernel {name!r} to calibrate: choose from {', '.join(NAMES)}")
    return names


def _program(text: str) -> tuple[str, int, int]:
    kernel, _, sizes = text.partition(",")
    if kernel not in known_kernels():
        raise argparse.ArgumentTypeError(f"no kernel {kernel!r}: choose from {', '.join(known_kernels())}")
    try:
        n, p = (int(float(part)) for part in sizes.split(","))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not KERNEL,N,P such as radix,1e5,2") from None
    return kernel, n, p


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = math.nan
    if not 0.0 <= percent < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage: give a number from 0 up, such as 10")
    return percent


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: give a whole number from 0 up")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m smp.microbench",
        description="Measure what shared memory costs on this computer, and fit cost functions to the measured times; "
        "rank lists, sort keys, relax grids, and show where the measured times lie in the predicted intervals; measure "
        "full/empty cells and streams.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = made.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        dest="mode",
        action="store_const",
        const="quick",
        help="coarse grids, about 45 seconds on 2 CPUs",
    )
    size.add_argument(
        "--full",
        dest="mode",
        action="store_const",
        const="full",
        help="the complete grids of the papers, about 20 minutes on 2 CPUs",
    )
    made.set_defaults(mode="default")
    made.add_argument(
        "-p",
        "--processors",
        type=_processors,
        metavar="1,2,4",
        help="numbers of processors (default: powers of two up to the number of CPUs)",
    )
    made.add_argument(
        "--only", type=_sections, metavar="NAMES", help=f"measure only these sections, of {','.join(SECTIONS)}"
    )
    add_options(made)
    made.add_argument(
        "--word-bytes",
        type=int,
        choices=(4, 8),
        default=8,
        help="bytes of a word of the access patterns, 4 or 8 (default: 8); programs are charged by the size of their "
        "own elements",
    )
    made.add_argument("--seed", type=_seed, default=1, metavar="N", help="seed of all random choices (default: 1)")
    made.add_argument(
        "--out",
        type=Path,
        default=Path("smp-report"),
        metavar="DIR",
        help="folder to write to (default: smp-report)",
    )
    made.add_argument(
        "--profile",
        type=Path,
        metavar="FILE",
        help="use a saved profile; measure only what --only names. A published profile is given by its name: "
        + ", ".join(f'"{name}"' for name in PUBLISHED),
    )
    models = made.add_mutually_exclusive_group()
    models.add_argument(
        "--calibrate",
        type=_kernels,
        nargs="?",
        const=tuple(KERNELS),
        metavar="NAMES",
        help="fit the models by which kernels choose their implementation: all, or only these, of "
        f"{','.join(KERNELS)}; or models of the runtime's own primitives, by the name messages; measure nothing else",
    )
    models.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="print profiles side by side, each compared with the first, and show which figures are different; measure "
        "nothing",
    )
    models.add_argument(
        "--impact",
        type=_program,
        metavar="KERNEL,N,P",
        help="print what a program costs by the profile (--profile, or the last one measured), price by price, and "
        f"what halving each price would save; KERNEL is one of {', '.join(known_kernels())}",
    )
    models.add_argument(
        "--facts", action="store_true", help="print what the system reports about this computer; measure nothing"
    )
    models.add_argument("--models", type=Path, metavar="FILE", help="print a saved calibration; measure nothing")
    made.add_argument(
        "--fail-above",
        type=_percent,
        metavar="PERCENT",
        help="with --compare: exit with code 3 if a figure is different and more than PERCENT per cent slower than the "
        "first profile's",
    )
    form = made.add_mutually_exclusive_group()
    for name, what in (
        ("json", "print the profile, the models, the comparison or the prices as JSON"),
        ("csv", "print the tables as CSV: raw numbers, units in the headers, titles and notes in lines with a #"),
        ("markdown", "print the tables in Markdown"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="text", help=what)
    made.add_argument("--no-plots", action="store_true", help="draw no plots")
    made.add_argument("--version", action="version", version=f"smp {VERSION}")
    return made


def default_processors() -> tuple[int, ...]:
    """Return the powers of two up to the number of CPUs that this process may use."""
    return tuple(1 << k for k in range(len(usable_cpus()).bit_length()))


def _checked(command: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; exit with a usage error if they do not go together."""
    options = command.parse_args(arguments)
    if options.compare and len(options.compare) < 2:
        command.error("argument --compare: needs two profiles or more, the base first")
    if options.fail_above is not None and not options.compare:
        command.error("argument --fail-above: goes only with --compare")
    check_machine(command, options)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = _checked(parser(), arguments)
    talk = Console(stderr=True)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ProfileWarning)
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = lambda message, *_, **__: talk.print(f"warning: {message}", style="yellow", markup=False)
        try:
            if options.calibrate or options.models:
                return _run_models(options, talk)
            if options.facts:
                found = gather()
                _print(found, [computer(found)], options.form)
                return 0
            if options.compare or options.impact:
                return _run_predictions(options, talk)
            return _run(options, talk)
        except KeyboardInterrupt:
            talk.print("interrupted")
            return 130
        except (SmpError, OSError) as error:
            talk.print(f"error: {error}", style="red", markup=False)
            return 1


def _run_models(options: argparse.Namespace, talk: Console) -> int:
    code, files = 0, []
    if options.models:
        data = load_models(options.models)
    else:
        options.out.mkdir(parents=True, exist_ok=True)
        calibration = Calibration(options.calibrate, options.out, options.seed)
        try:
            with interruptible(), shown_on(talk) as bar:
                calibration.measure(bar)
        except KeyboardInterrupt:
            code = 130
            talk.print("interrupted: saving the results so far; run the same command again to continue")
        data, files = calibration.data, calibration.save()
    from .calibration.tables import report as report_models

    _print(data, report_models(data), options.form)
    if not options.no_plots:
        from .calibration import plots as plots_calibration

        files += plots_calibration.draw(data, options.out)
    _tell(talk, options.out, files)
    return code


def _run_predictions(options: argparse.Namespace, talk: Console) -> int:
    if options.compare:
        from .predictions.comparison import compare
        from .predictions.report_comparison import slower

        found = compare(*options.compare)
        _print(found.to_json(), [found.report()], options.form)
        if options.fail_above is None:
            return 0
        if not any(row.valid for row in found.rows):
            raise ProfileError(
                "no figure is valid in both profiles, so none can count as slower: measure again when it is quiet"
            )
        worse = found.slower(options.fail_above)
        if worse:
            talk.print(slower(worse, options.fail_above), style="red", markup=False, highlight=False)
        return 3 if worse else 0
    from .predictions.impacts import impact_of
    from .predictions.report_impact import report as impact_report

    profile = opened(options.profile) if options.profile else Profile.find()
    kernel, n, p = options.impact
    impact = impact_of(profile, kernel, n, p)
    data = {"kernel": kernel, "n": n, "p": p, **impact.to_json()}
    _print(data, [impact_report(profile, kernel, n, p, found=impact)], options.form)
    return 0


def _run(options: argparse.Namespace, talk: Console) -> int:
    base = opened(options.profile) if options.profile else None
    kind, size = options.machine
    own = tuple(name for name, section in SECTIONS.items() if section.machine == kind)
    sections = options.only or (() if base is not None else own)
    if sections and isinstance(base, PublishedProfile):
        raise ProfileError(f"measurements of this computer cannot be added to {base!r}: leave out --only")
    if sections and base is not None and base.kind != kind:
        raise ProfileError(
            f"measurements of the kind {kind!r} cannot be added to {base!r}, which is of the kind {base.kind!r}: leave "
            "out --profile, or measure the same kind of machine"
        )
    code = 0
    if sections:
        options.out.mkdir(parents=True, exist_ok=True)  # a folder that cannot be written fails before the work
        ranks = None if kind == "host" else ranks_of(size, options.hosts, options.launcher)
        processors = options.processors or (default_processors() if ranks is None else (ranks.size,))
        plan = make_plan(options.mode, processors, options.seed, options.word_bytes, ranks)
        if not any(cache_folder().glob("core-*")):
            talk.print("first run on this computer: compiling the loops takes up to a minute more")
        campaign = Campaign(plan, base, options.budget, options.name)
        if done := campaign.begin(sections, options.out):
            talk.print(
                f"resuming the measurement of {campaign.profile.data['created']}, which is not complete: "
                f"{', '.join(done)} done; remove {options.out / 'profile.json'} to measure everything again",
                highlight=False,
            )
        try:
            measure(campaign, talk)
        except KeyboardInterrupt:
            code = 130
            talk.print("interrupted: saving the results so far; run the same command again to continue")
        files = []
        try:
            files = campaign.save()
        except OSError as error:  # a full disk; the results are printed all the same
            code = 1
            talk.print(f"error: {error}", style="red", markup=False)
        profile, samples = campaign.profile, campaign.samples
    else:
        assert base is not None
        profile, samples, files = base, samples_of(base), []
    _print(profile.data, report.whole(profile), options.form)
    from .report.page import write_page  # imports the template engine

    if not options.no_plots:
        from .report import plots

        files += plots.draw(profile.data, samples, options.out)
    files.append(write_page(profile, samples, options.out))
    _tell(talk, options.out, files)
    return code


def _tell(talk: Console, folder: Path, files: Sequence[Path]) -> None:
    names = [file.name for file in files]
    if len(names) > MOST_NAMES:
        names = [name for name in names if not name.endswith(".png")] + [
            f"{sum(n.endswith('.png') for n in names)} plots"
        ]
    if names:
        talk.print(f"written to {folder}: {', '.join(names)}")


def _print(data: Mapping[str, Any], parts: Sequence[Part], form: str) -> None:
    """Print a document as JSON, or its report in another format."""
    if form == "json":
        print(json.dumps(data, indent=1))
    elif form == "csv":
        print(delimited.report(parts))
    elif form == "markdown":
        print(markdown.report(parts))
    else:
        screen = sys.stdout.isatty()
        print(terminal.report(parts, shutil.get_terminal_size().columns if screen else WIDTH, bold=screen))
    sys.stdout.flush()
