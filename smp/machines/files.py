"""Machine files: those that come with smp, by name, and those of the user, by path."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import MachineFileError
from .layout.closest import advice
from .layout.settings import short
from .lines import line_of, line_of_syntax_error
from .machine import MachineFile
from .reading import read

FOLDER = Path(__file__).parent
LONGEST = 1 << 16
"""Most bytes of a machine file. Those that come with smp have a tenth of that."""


def names() -> tuple[str, ...]:
    """Return the names of the machines that come with smp.

    Examples
    --------
    >>> import smp
    >>> "cm5" in smp.machines.names()
    True
    """
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(source: str | os.PathLike[str] | Mapping[str, Any] | MachineFile) -> MachineFile:
    """Return the description of a machine.

    Parameters
    ----------
    source : str, path_like, mapping or MachineFile
        The name of a machine that comes with smp, such as ``"cm5"``. A text that ends with ``.toml`` or has a
        separator of folders is the path of a file. A mapping has the keys of a file. A description is returned
        unchanged.

    Returns
    -------
    MachineFile

    Raises
    ------
    MachineFileError
        If there is no such machine or file, if the file is not TOML, or if it has a key or a value that it may not
        have. The message has the line, the key, the value, and what is allowed.

    Examples
    --------
    >>> import smp
    >>> alewife = smp.machines.load("alewife")
    >>> alewife.network.kind, alewife.interface.in_fifo
    ('mesh', 512)
    """
    if isinstance(source, MachineFile):
        return source
    if isinstance(source, Mapping):
        return read(source, MachineFile, "the mapping")
    if isinstance(source, os.PathLike) or (isinstance(source, str) and (source.endswith(".toml") or os.sep in source)):
        return _read(Path(source))
    if not isinstance(source, str):
        raise MachineFileError(f"{short(source)} is not a machine: give a name, a path, a mapping or a MachineFile")
    if source not in names():
        raise MachineFileError(
            f"there is no machine {short(source)}{advice(source, names()) or '.'} The machines are "
            f"{', '.join(names())}. The path of a file ends with .toml"
        )
    return _read(FOLDER / f"{source}.toml")


def _read(file: Path) -> MachineFile:
    text = _text(file)
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        line = line_of_syntax_error(text, error)
        raise _broken(file, line, "values are nested too deeply") from None
    except ValueError as error:
        line = line_of_syntax_error(text, error)
        raise _broken(file, line, str(error).partition(" (at ")[0].partition(";")[0]) from None
    return read(document, MachineFile, str(file), partial(line_of, text))


def _broken(file: Path, line: int, fact: str) -> MachineFileError:
    fact = " ".join(fact.split())
    message = f"{file}, line {line}: this is not TOML: {fact[:1].lower()}{fact[1:]}"
    return MachineFileError(f"{message}; a line is [table], or key = value", file=str(file), line=line)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
    except FileNotFoundError:
        raise MachineFileError(
            f"there is no machine file at {file}; the machines that come with smp are {', '.join(names())}",
            file=str(file),
        ) from None
    except (OSError, ValueError) as error:  # a ValueError if the path has a null character
        raise MachineFileError(f"cannot read the machine file {str(file)!r}: {error}", file=str(file)) from None
    if len(content) > LONGEST:
        raise MachineFileError(f"{file} is not a machine file: it has more than {LONGEST:,} bytes", file=str(file))
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise MachineFileError(
            f"{file}, line {line}: this is not a text in UTF-8 ({error.reason}); save the file as UTF-8",
            file=str(file),
            line=line,
        ) from None
