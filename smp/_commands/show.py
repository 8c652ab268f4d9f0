"""``smp show``: print what was saved, or published: a profile, a calibration, an experiment."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .._output.forms import add_forms
from ..errors import ProfileError
from ..microbench import actions
from ..microbench.options import names_of
from ..microbench.sections import SECTIONS
from ..profiles.profile import Profile
from ..profiles.published import PUBLISHED, opened

FOLDER = Path("smp-report")
"""Folder that is looked into by default."""
FILES = ("profile.json", "calibration.json", "trials.json", "ladder.json")
"""Files that a folder of results may have, in the order in which they are looked for."""
EXPERIMENTS = ("smp-trials", "smp-ladder")
EXAMPLES = f"""
examples:
  smp show                             the profile in smp-report, or the last one of this computer
  smp show --only latency,bandwidth    two sections of it
  smp show smp-report/calibration.json --out pictures
  smp show smp-perturb --markdown      an experiment
  smp show "{PUBLISHED[0]}"        the published prices of a machine
  smp show --schema                    the layout of a profile, as a JSON schema
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp show",
        description="Print what was saved, and measure nothing.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a profile, a calibration or an experiment, or a folder that has one; or the name of a published profile",
    )
    what.add_argument("--facts", action="store_true", help="print what the system reports about this computer")
    what.add_argument("--schema", action="store_true", help="print the JSON schema of a profile")
    made.add_argument(
        "--only", type=names_of(SECTIONS, "section {}"), metavar="NAMES", help="print only these sections of a profile"
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="also write the page and the plots into a folder")
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    options = parser().parse_args(arguments)
    options.no_plots = False
    return actions.carry_out(_action(options), options)


def _action(options: argparse.Namespace) -> actions.Action:
    if options.facts:
        return actions.show_facts
    if options.schema:
        return _schema
    options.file = _file_in(options.file)
    if (kind := _format(options.file)) == "smp-calibration":
        options.models = options.file
        return actions.show_models
    return _experiment if kind in EXPERIMENTS else _profile


def _schema(options: argparse.Namespace, talk: Console) -> int:
    from ..profiles.layout import profile_layout

    print(json.dumps(profile_layout().model_json_schema(), indent=1))
    return 0


def _profile(options: argparse.Namespace, talk: Console) -> int:
    if options.file is None:
        options.file = Profile.find().path
    if options.only:
        data = opened(options.file).data
        if missing := [name for name in options.only if not data.get(name)]:
            raise ProfileError(f"{options.file} has no section {missing[0]}: measure it with --only {missing[0]}")
    options.profile = options.file
    return actions.show(options, talk)


def _experiment(options: argparse.Namespace, talk: Console) -> int:
    from ..perturb.command import show

    return show(options.file, options.form, plots=options.out)


def _file_in(given: Path | None) -> Path | None:
    """Return the file that is meant: of a folder, the first of `FILES` in it; None for the last profile."""
    folder = given or FOLDER
    found = (folder / name for name in FILES if (folder / name).is_file())
    return next(found, given)


def _format(file: Path | None) -> str:
    """Return the format that a file states; empty if it states none, which is the reader's to complain about."""
    try:
        data = json.loads(file.read_text("utf-8")) if file else None
    except (OSError, ValueError):
        return ""
    return str(data.get("format", "")) if isinstance(data, dict) else ""
