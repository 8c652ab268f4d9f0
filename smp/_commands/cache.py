"""``smp cache``: show the files that smp keeps for this user, or remove machine code."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._computer import data
from .._output.forms import add_forms, print_in
from .._output.table import Column, Part, Table, counted, text
from .._runtime.loops.code_folder import LOCK, cache_folder

FIRST = "The first folder has the code of this version of Python and of its packages."
CODE, MEASUREMENTS = "machine code", "measurements"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp cache",
        description="Show the folders in which smp keeps machine code and measurements: see docs/installation.md.",
    )
    made.add_argument(
        "--clear",
        action="store_true",
        help="remove all machine code; programs compile it again, which takes up to a minute. Measurements stay",
    )
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    options = parser().parse_args(arguments)
    if options.clear:
        for folder in _folders():
            for file in _files(folder):
                file.unlink(missing_ok=True)
    rows = [_row(CODE, folder) for folder in _folders()] + [_row(MEASUREMENTS, data.data_folder())]
    columns = (text("folder"), text("content"), counted("files"), Column("size", form="bytes"), text("last change"))
    table = Table("", columns, rows, [FIRST])
    names = ("folder", "content", "files", "bytes", "changed")
    print_in(options.form, [dict(zip(names, row, strict=True)) for row in rows], [Part("", [table])])
    return 0


def _folders() -> Iterator[Path]:
    """Yield the folders of machine code: one for each version of Python and of the packages that make the code."""
    now = cache_folder()
    yield now
    yield from sorted(folder for folder in now.parent.iterdir() if folder.is_dir() and folder != now)


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder, without the lock files, which other processes may hold."""
    return [file for file in folder.glob("*") if file.is_file() and not file.name.startswith(LOCK)]


def _row(content: str, folder: Path) -> list[str | float]:
    found = [file.stat() for file in _files(folder)]
    changed = max((one.st_mtime for one in found), default=None)
    date = "" if changed is None else datetime.datetime.fromtimestamp(changed).strftime("%Y-%m-%d")
    return [str(folder), content, len(found), sum(one.st_size for one in found), date]
