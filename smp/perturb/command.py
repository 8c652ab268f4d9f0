"""The command ``python -m smp.perturb``: the only module of the package that prints or exits.

Exit codes of `main`: 0 done, 2 wrong usage, 130 interrupted (measurements are saved, and the same command continues),
1 otherwise. For the exit status of the process see `commands`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .._computer.commands import interruptible
from .._computer.data import write
from .._computer.version import VERSION
from .._output.forms import add_forms, print_in
from .._output.table import Part
from .._runtime.kinds import emulated, host
from .._runtime.machine import Machine
from ..errors import SmpError
from .analysis.report import places_table, shares
from .designs.by_name import design as design_of
from .designs.orthogonal import orthogonal_array
from .designs.slow_motion import is_named
from .experiments.climbing import climb
from .experiments.experiment import screen
from .experiments.plan import is_array
from .experiments.runners import running
from .experiments.trials import Trials
from .places.factors import check_name
from .places.paths import PATHS
from .places.treatments import FORMS, Treatment, treatment
from .results import Climbed, Result, Screened, loaded

PROG = "python -m smp.perturb"
EXAMPLES = f"""
examples:
  python -m smp.perturb sort.py                     every place that the script passes, in the smallest good design
  python -m smp.perturb sort.py --list              only show which places it passes, and how often
  python -m smp.perturb sort.py --factors push,pop,swap --design 2^3 --delay 10us
  python -m smp.perturb sort.py --function sort.push --function statistics.median --function sort.Stack.pop
  python -m smp.perturb sort.py --path copy_in --path copy_out   delays on the ways of the data
  python -m smp.perturb sort.py --call main --argument 100000 --work 10 --replicates 5
  python -m smp.perturb ring.py --call node --machine emulated:16 --design "OA25(5^6)" \\
      --treatment none,7us,14us,21us,28us           search for delays that make it faster
  python -m smp.perturb sort.py --ladder 1us,2us,5us,10us,20us   are effects in proportion to delays?
  python -m smp.perturb --trials smp-perturb/trials.json         print saved trials again, run nothing

treatments: {FORMS}

For each trial, the whole script is run in a process of its own. If its global name `responses` holds a number or a
mapping at the end, these numbers are responses too. With --call, the script is imported instead, and the function is
called once for each trial, all in one process.
"""
MACHINES: dict[str, Callable[[int], Machine]] = {"host": host, "emulated": partial(emulated, schedule="clock")}


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        with _usage():
            check_name(name)
    return names


def _place(text: str) -> str:
    with _usage():
        check_name(text)
    if "." not in text:
        raise argparse.ArgumentTypeError(
            f"{text!r} names no function of a module: write module.function, or __main__.{text} for one of the script; "
            f"--call {text} calls it for each trial"
        )
    return text


def _treatments(text: str) -> list[Treatment | None]:
    with _usage():
        return [None if part.strip() == "none" else treatment(part) for part in text.split(",")]


def _design(text: str) -> str:
    with _usage():
        if is_array(text):
            orthogonal_array(text)
        elif text.strip().upper() != "PB" and not is_named(text):  # its size follows from the number of factors
            design_of(text)
    return text


def _machine(text: str) -> Callable[[], Machine]:
    kind, _, size = text.partition(":")
    if kind not in MACHINES or not size.isdecimal() or int(size) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a machine: write host:2 or emulated:16")
    return lambda: MACHINES[kind](int(size))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


@contextlib.contextmanager
def _usage() -> Iterator[None]:
    """Let argparse print the message of an error, instead of its own general one."""
    try:
        yield
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parser(prog: str = PROG) -> argparse.ArgumentParser:
    """Return the parser of the command line, for a command of the given name."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="Find out by a designed experiment what the run time of a program is sensitive to. Delays are\n"
        "inserted at its places in planned patterns, all trials are timed, and the effects of the\n"
        "places and of their interactions are computed.",
        epilog=EXAMPLES.replace(PROG, prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("program", type=Path, nargs="?", metavar="program.py", help="script to run")
    made.add_argument(
        "--design", type=_design, metavar="NAME", help="design, such as 2^3, 2^(6-2), PB12, OA25(5^6), speedup"
    )
    made.add_argument("--factors", type=_names, metavar="A,B,C", help="places to treat (default: all that it passes)")
    made.add_argument("--replicates", type=_count, default=3, metavar="N", help="replicates of all trials (default: 3)")
    made.add_argument(
        "--runs",
        type=_count,
        default=1,
        metavar="N",
        help="runs of each trial; the quickest counts (default: 1)",
    )
    made.add_argument(
        "--blocks", type=_count, default=1, metavar="N", help="blocks in time in each replicate (default: 1)"
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the order of the trials (default: 0)")
    kind = made.add_mutually_exclusive_group()
    kind.add_argument(
        "--delay",
        dest="treatment",
        type=_treatments,
        metavar="TIME",
        help="keep the CPU busy for this long (default: 10us)",
    )
    kind.add_argument(
        "--work",
        dest="treatment",
        type=lambda text: _treatments(f"work:{text}"),
        metavar="UNITS",
        help="do this number of multiplications",
    )
    kind.add_argument(
        "--treatment", type=_treatments, metavar="TEXT", help="any treatment; for an array, one per level: A,B,..."
    )
    kind.add_argument(
        "--ladder", type=_treatments, metavar="TIMES", help="run the same design with each of these delays: A,B,..."
    )
    made.add_argument(
        "--function",
        action="append",
        default=[],
        type=_place,
        metavar="MODULE.NAME",
        help="make each call of this function a place, without a change of its source (repeatable)",
    )
    made.add_argument(
        "--path",
        action="append",
        default=[],
        choices=list(PATHS),
        help="make each operation of this data path a place, without a change of the source (repeatable)",
    )
    made.add_argument("--call", metavar="NAME", help="function of the script to call for each trial")
    made.add_argument(
        "--argument",
        action="append",
        default=[],
        metavar="VALUE",
        help="argument of the function or script (repeatable)",
    )
    made.add_argument(
        "--machine", type=_machine, metavar="KIND:P", help="run the function as an SPMD program, as on host:2"
    )
    made.add_argument(
        "--throughput",
        metavar="AMOUNT",
        help="work of a run, or the name of a result that holds it: report work per second",
    )
    made.add_argument("--responses", type=_names, metavar="A,B", help="responses to report (default: all but memory)")
    made.add_argument(
        "--out", type=Path, default=Path("smp-perturb"), metavar="DIR", help="folder to write to (default: smp-perturb)"
    )
    made.add_argument("--anew", action="store_true", help="discard the saved trials of an interrupted experiment")
    made.add_argument("--list", action="store_true", help="only count the places that the program passes")
    made.add_argument("--trials", type=Path, metavar="FILE", help="print saved trials or a ladder, run nothing")
    add_forms(made)
    made.add_argument("--no-plots", action="store_true", help="draw no plots, and write no page")
    made.add_argument("--version", action="version", version=f"smp {VERSION}")
    return made


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run the command, and return its exit code."""
    line = parser(prog)
    options = line.parse_args(arguments)
    if (options.program is None) == (options.trials is None):
        line.error("give either a program to run or saved --trials to print")
    if options.machine and not options.call:
        line.error("--machine runs a function of the script: name it with --call")
    if options.ladder and options.blocks > 1:
        line.error("--ladder runs the trials of all rungs in one random order: leave out --blocks")
    talk = Console(stderr=True)
    try:
        return _run(options, talk)
    except KeyboardInterrupt:
        kept = not options.list and (options.out / "interrupted.json").exists()
        talk.print(
            "interrupted" + (": the trials so far are saved; run the same command again to continue" if kept else "")
        )
        return 130
    except (SmpError, OSError, ValueError, TypeError, SyntaxError) as error:
        talk.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        return 1


def show(file: Path, form: str, responses: Sequence[str] | None = None, plots: Path | None = None) -> int:
    """Print a saved experiment, and draw its plots into a folder if one is given; return 0."""
    found = loaded(file)
    names = _told(found.trials, responses)
    _print(found, names, form)
    if plots is not None:
        _drawn(found, names, plots)
    return 0


def _drawn(found: Result, names: Sequence[str], folder: Path) -> list[Path]:
    """Write the plots and the page into a folder; return their paths."""
    from .._output.drawing import save  # Matplotlib takes a while, and so does the template engine
    from .page import write_page

    return [*save(found.figures(names), folder), write_page(found, names, folder)]


def _run(options: argparse.Namespace, talk: Console) -> int:
    if options.trials:
        return show(options.trials, options.form, options.responses)
    with contextlib.ExitStack() as stack:
        program: Any = options.program
        given: list[Any] = options.argument
        machine = None
        if options.call:
            stack.enter_context(_silence())
            program, given = _function(options.program, options.call), [_value(text) for text in given]
            machine = stack.enter_context(options.machine()) if options.machine else None
            options.function = [re.sub(r"^__main__\.", f"{options.program.stem}.", name) for name in options.function]
        if options.list:
            with running(program, given, machine, options.function, options.path) as (runner, _):
                counts = runner.count()
        else:
            found = _experiment(options, program, given, machine, talk)
    if options.list:
        run = counts.outcome.time
        print_in(options.form, shares(counts.met, run), [Part("", [places_table(counts.met, run)])])
        return 0
    files = [found.file]
    try:
        names = _told(found.trials, options.responses)
    except ValueError as error:
        found.save(options.out)
        kept = options.out / found.file
        raise ValueError(
            f"{error} (the trials are saved: python -m smp.perturb --trials {kept} analyses them)"
        ) from None
    try:
        found.save(options.out)
        for file, analysis in found.analyses(names).items():
            files.append(f"{quote(file, safe='')}.json")
            write(options.out / files[-1], json.dumps(analysis, indent=1))
    finally:  # even if the disk is full
        _print(found, names, options.form)
    if not options.no_plots:
        files += [file.name for file in _drawn(found, names, options.out)]
    talk.print(f"written to {options.out}: {', '.join(files)}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _experiment(
    options: argparse.Namespace, program: Any, given: list[Any], machine: Machine | None, talk: Console
) -> Result:
    kept = options.out / "interrupted.json"
    options.out.mkdir(parents=True, exist_ok=True)  # if the folder cannot be written, fail before the work
    if options.anew:
        kept.unlink(missing_ok=True)
    treatments = options.treatment or [treatment("10us")]
    with interruptible(), _bar(talk) as bar:
        same: dict[str, Any] = {
            "factors": options.factors,
            "functions": options.function,
            "paths": options.path,
            "arguments": given,
            "machine": machine,
            "replicates": options.replicates,
            "runs": options.runs,
            "seed": options.seed,
            "work": _value(options.throughput) if options.throughput else None,
            "resume": kept,
            "progress": bar,
        }
        if options.ladder:
            found: Result = Climbed(climb(program, options.ladder, options.design, **same))
        else:
            one = treatments if len(treatments) > 1 else treatments[0]
            found = Screened(screen(program, options.design, treatment=one, blocks=options.blocks, **same))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    found.trials.about.update(date=now, smp=VERSION, program=str(options.program), call=options.call)
    return found


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Discard everything that the program writes to its standard output, by whatever means."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _function(path: Path, name: str) -> Callable[..., Any]:
    """Import a script, and return the function of this name."""
    if not path.is_file():
        raise ValueError(f"there is no script {path}")
    if "." in path.stem:
        raise ValueError(f"{path.stem} cannot be imported because of the dot in its name: rename the script")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.import_module(path.stem)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise ValueError(f"{path.stem} is the name of another module, {module.__file__}: rename the script")
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"{path} has no function {name!r}")
    return function  # type: ignore[no-any-return]


def _value(text: str) -> Any:
    """Return the number, list, ... that a text stands for in Python; any other text unchanged."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _told(trials: Trials, wanted: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(wanted or (name for name in trials.names if name != "memory"))
    for name in names:
        if name not in trials.names:
            raise ValueError(f"there is no response {name!r}; the responses are {', '.join(trials.names)}")
    return names


def _print(found: Result, names: Sequence[str], form: str) -> None:
    print_in(form, found.document(names), [Part("", found.report(names))])


@contextlib.contextmanager
def _bar(talk: Console) -> Iterator[Callable[[float, str], None]]:
    """Show a progress bar with the time left. It has no thread, because a script's trials are forked from here."""
    columns = (TextColumn("{task.description:<26.26}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=talk, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=1.0)

        def tell(done: float, text: str) -> None:
            progress.update(task, completed=done, description=text, refresh=True)

        yield tell
