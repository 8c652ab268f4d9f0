"""Options of the commands that measure: what to measure, on which machine, in which time, and where to write."""

from __future__ import annotations

import argparse
import math
import platform
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from .._runtime.program.processor import MOST
from ..profiles.published import PUBLISHED
from .sections import SECTIONS


def add_size(parser: argparse.ArgumentParser) -> None:
    """Add ``--quick`` and ``--full``, as ``options.mode``."""
    size = parser.add_mutually_exclusive_group()
    for mode, what in (
        ("quick", "coarse grids, about 45 seconds on 2 CPUs"),
        ("full", "the complete grids of the papers, about 20 minutes on 2 CPUs"),
    ):
        size.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, help=what)
    parser.set_defaults(mode="default")


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is measured: processors, sections, the machine, the time, words and the seed."""
    add_processors(parser)
    parser.add_argument(
        "--only",
        type=names_of(SECTIONS, "section {}"),
        metavar="NAMES",
        help=f"measure only these sections, of {','.join(SECTIONS)}",
    )
    _add_machine(parser)
    parser.add_argument(
        "--spec",
        type=Path,
        metavar="FILE",
        help="a specification file, which says what to measure with which parameters on any computer (TOML); instead "
        "of --quick, --full, -p, --only, --seed and --word-bytes",
    )
    parser.add_argument(
        "--budget",
        type=_seconds,
        metavar="SECONDS",
        help="stop measuring after this time: sections take less than their usual time, and the least important ones "
        "are left out; the same command, run again, continues with those",
    )
    parser.add_argument(
        "--name",
        nargs="?",
        const=platform.node(),
        metavar="NAME",
        help="name of the computer in the profile (default: none; without NAME: its name in the network)",
    )
    parser.add_argument(
        "--word-bytes",
        type=int,
        choices=(4, 8),
        default=8,
        help="bytes of a word of the access patterns, 4 or 8 (default: 8); programs are charged by the size of their "
        "own elements",
    )
    add_seed(parser)


def add_processors(parser: argparse.ArgumentParser) -> None:
    """Add ``-p``, the numbers of processors."""
    parser.add_argument(
        "-p",
        "--processors",
        type=_processors,
        metavar="1,2,4",
        help="numbers of processors (default: powers of two up to the number of CPUs)",
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--machine",
        type=_machine,
        default=("host", None),
        metavar="mpi:N",
        help="measure a machine of MPI with N processors instead of this computer's shared memory; without :N, with "
        "the ranks of the launcher's job, or a processor for each CPU",
    )
    parser.add_argument(
        "--hosts", metavar="a:8,b:8", help="with --machine mpi: computers, each with its number of ranks"
    )
    parser.add_argument(
        "--launcher",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="with --machine mpi: words that take the place of mpiexec, such as srun",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed``."""
    parser.add_argument("--seed", type=_seed, default=1, metavar="N", help="seed of all random choices (default: 1)")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add ``--out`` and ``--no-plots``."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("smp-report"),
        metavar="DIR",
        help="folder to write to (default: smp-report)",
    )
    parser.add_argument("--no-plots", action="store_true", help="draw no plots, and write no page")


def add_profile(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--profile``; ``what`` says what the profile is for."""
    names = ", ".join(f'"{name}"' for name in PUBLISHED)
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help=f"{what}. A published profile is given by its name: {names}"
    )


def check_machine(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error if options do not go with the machine that is to be measured."""
    if options.spec is not None:
        others = {"--quick or --full": options.mode != "default", "-p": options.processors, "--only": options.only}
        others |= {"--seed": options.seed != 1, "--word-bytes": options.word_bytes != 8, "--profile": options.profile}
        if given := [name for name, there in others.items() if there]:
            parser.error(f"argument --spec: the file says what {' and '.join(given)} would say")
    kind = options.machine[0]
    if kind == "host" and (options.hosts or options.launcher):
        parser.error("arguments --hosts and --launcher: go only with --machine mpi")
    if kind == "mpi" and options.processors:
        parser.error("argument -p: goes only with the host; give the number of processors with --machine mpi:N")
    for name in options.only or ():
        if SECTIONS[name].machine != kind:
            wanted = "with --machine mpi" if kind == "host" else "without --machine mpi"
            parser.error(f"argument --only: {name} is measured only {wanted}")


def names_of(known: Iterable[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """Return a type of argument: known names, separated by commas; ``what`` with a name in it goes into the error."""
    allowed = tuple(known)

    def names(text: str) -> tuple[str, ...]:
        found = tuple(part.strip() for part in text.split(","))
        for name in found:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"no {what.format(repr(name))}: choose from {', '.join(allowed)}")
        return found

    return names


def _processors(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers such as 1,2,4") from None
    wrong = [n for n in numbers if not 1 <= n <= MOST]
    if wrong:
        raise argparse.ArgumentTypeError(f"the number of processors must be from 1 to {MOST}, not {wrong[0]}")
    return numbers


def _machine(text: str) -> tuple[str, int | None]:
    kind, _, size = text.partition(":")
    if kind == "mpi" and (not size or (size.isdecimal() and 1 <= int(size) <= MOST)):
        return kind, int(size) if size else None
    if text == "host":
        return text, None
    raise argparse.ArgumentTypeError(f"{text!r} is not a machine: give host, mpi, or mpi:N with N from 1 to {MOST}")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a budget: give a number of seconds above 0")
    return seconds


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: give a whole number from 0 up")
    return int(text)
