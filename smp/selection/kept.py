"""Keeps the kernels' models of this machine, made by ``python -m smp.microbench --calibrate``, for later choices.

calibration-<fingerprint>.json              {"libraries": {"sort[int64, 2 streams]": models, ...}}
calibration-<fingerprint>-set-aside.json    the same of models that are not used: of two calibrations, the worse one

The models of a library have a digest of the code that they were measured with (see `code_of`).  Once that code has
changed, they are no longer used for choices, until a calibration has compared them with new ones.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .._computer.data import data_folder, fingerprint, write
from .._runtime.loops.package_code import digest_of
from ..errors import ModelError
from ..models.fit.model import Model
from .library import Library
from .suite import Suite

FORMAT, VERSION = "smp-calibration", 1
CALIBRATE = "python -m smp.microbench --calibrate"
REDO = f"{CALIBRATE} makes one"


class CalibrationWarning(UserWarning):
    """Warns that kept models cannot be used, so that kernels choose by their rules."""


def kept_at() -> Path:
    """Return the path of the file with this machine's models."""
    return _kept_at(data_folder())


def set_aside_at() -> Path:
    """Return the path of the file with models that were compared with this machine's models and were worse."""
    file = kept_at()
    return file.with_name(f"{file.stem}-set-aside.json")


def kept_models(of: Library | Suite) -> dict[str, Model] | None:
    """Return the kept models of a library or suite by the names of its specifications; None if there are none.

    Raises
    ------
    ModelError
        If they cannot be read, or belong to an earlier form of the library or suite. Models that were measured with
        other code are returned, because they may still be the better ones.
    """
    found = _kept(kept_at()).get(of.name)
    if found is None:
        return None
    models = {f"{of.name}/{name}": Model.from_json(each) for name, each in found["models"].items()}
    for specification in of.specifications():
        if specification.name not in models or models[specification.name].names != tuple(specification.inputs):
            raise ModelError(f"the earlier models of {of.name} have none of {specification.name} with these inputs")
    return models


def code_of(library: Library) -> str:
    """Return a digest of the code that runs in calls of a library's implementations: of the packages they are in."""
    called = [each.function for each in library.implementations.values()]
    functions = [each.func if isinstance(each, functools.partial) else each for each in called]
    packages = {function.__module__.rpartition(".")[0] for function in functions}
    return " ".join(map(digest_of, sorted(packages)))


def recalled(library: Library) -> Library:
    """Give a library the models that are kept for it, if there are any, and return it.

    Warns
    -----
    CalibrationWarning
        If the models cannot be read, belong to an earlier form of the library, or were measured with other code. The
        library then has no models.
    """
    kernel = library.name.partition("[")[0]  # so that Python shows the warning once for all types of data
    try:
        found = _kept(kept_at()).get(library.name)
        if found is not None:
            if found.get("code") != code_of(library):
                raise ModelError(
                    f"the models of {kernel} were measured before its implementations, Python, NumPy or Numba changed, "
                    f"so that they may be wrong: {CALIBRATE} measures them again"
                )
            library.use_json(found)
    except ModelError as error:
        warnings.warn(f"{error}; until then {kernel} chooses by its rule", CalibrationWarning, stacklevel=2)
    return library


def document(libraries: Iterable[Library]) -> dict[str, Any]:
    """Return the models of libraries as JSON, in the form in which they are kept."""
    made = {library.name: entry(library) for library in libraries if library.models}
    return {"format": FORMAT, "version": VERSION, "libraries": made}


def entry(of: Library | Suite, samples: bool = False) -> dict[str, Any]:
    """Return the models of a library or suite as JSON, those of a library with the digest of the code they are of."""
    code = {"code": code_of(of)} if isinstance(of, Library) else {}
    return of.to_json(samples) | code


def keep(data: Mapping[str, Any]) -> Path:
    """Keep a document's models, without samples, in place of those of the same libraries, and return the file's path.

    Models whose verdict in the document is that the earlier ones are kept are set aside, and so are earlier models that
    are replaced.  Earlier models that are kept were compared with today's code, so they get its digest.  A library that
    has already recalled its models goes on with them; later programs find the new ones.
    """
    file, other = kept_at(), set_aside_at()
    used, aside = _or_none(file), _or_none(other)
    before = dict(aside)
    for name, library in data["libraries"].items():
        bare = {**library, "models": {m: {**model, "samples": None} for m, model in library["models"].items()}}
        bare = json.loads(json.dumps(bare))  # as it will be read again
        if data.get("verdicts", {}).get(name, {}).get("kept") == "earlier":
            aside[name] = bare
            if name in used and "code" in bare:
                used[name] = {**used[name], "code": bare["code"]}
        else:
            if used.get(name, bare) != bare:
                aside[name] = used[name]
            used[name] = bare
    write(file, json.dumps({**document([]), "libraries": used}))
    if aside != before:
        write(other, json.dumps({**document([]), "libraries": aside}))
    _kept.cache_clear()
    return file


def read(file: Path) -> dict[str, Any]:
    """Return the document of models in a file.

    Raises
    ------
    ModelError
        If the file is missing, damaged, or of another format or version. The message says what is wrong, and where.
    """
    from .._computer import documents  # Pydantic takes a while to import, and kernels without kept models do without
    from .layouts import CalibrationLayout

    data = documents.read(file, ModelError, "a calibration", REDO)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelError(f"{file} is not a calibration of smp: its format is not {FORMAT!r}")
    if data.get("version") != VERSION:
        found = data.get("version")
        raise ModelError(f"{file} is of version {found!r}, but this smp reads version {VERSION}: calibrate again")
    documents.check(data, CalibrationLayout, ModelError, str(file), REDO)
    return data


def _or_none(file: Path) -> dict[str, Any]:
    """Return the libraries of a file; none if the file is damaged and will be replaced."""
    try:
        return dict(_kept(file))
    except ModelError:
        return {}


@functools.cache
def _kept_at(base: Path) -> Path:
    return base / f"calibration-{fingerprint()}.json"


@functools.cache
def _kept(file: Path) -> dict[str, Any]:
    """Return the libraries of a file by name. The file is read only once."""
    return dict(read(file)["libraries"]) if file.exists() else {}
