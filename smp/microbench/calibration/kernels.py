"""The option ``--calibrate``: measure libraries and suites, keep them for this machine, and save them with samples.

    calibration.json    every model with the timings it was made from, and whether the calibration is complete
    models.py  models.c the same models as functions, for other programs

A library is a set of implementations of a kernel, each with a model of its time (`smp.selection.library`).  The
primitives of the runtime form a suite (`smp.selection.suite`).  Each library or suite is saved as soon as it is
calibrated, and the same command resumes a calibration after any interruption.  New models replace the kept ones only
if they are better on fresh points (`smp.selection.fresh`).

Source: Brewer, Portable High-Performance Supercomputing, figure 3-1.
"""

from __future__ import annotations

import datetime
import importlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from smp._computer.data import write
from smp.errors import ModelError
from smp.models.fit.model import Model
from smp.selection import kept
from smp.selection.calibration import calibrate
from smp.selection.fresh import compare
from smp.selection.library import Library
from smp.selection.suite import Suite

from .primitives.suite import NAME, suite_here

KERNELS = {
    "sort": ("sorting.choice", "sorting.programs"),
    "lists": ("lists.choice",),
    "stencil": ("grids.choice",),
    "transpose": ("messages.transposes",),
}
"""Kernels that are calibrated by default, and the modules of `smp.kernels` whose ``libraries()`` returns theirs."""
NAMES = (*KERNELS, NAME)
"""All that can be calibrated: kernels, and the primitives of the runtime, which no kernel needs for its choices."""
FILE, UNDER_WAY = "calibration.json", "calibration-under-way-{code}.json"

Progress = Callable[[float, str], None]
Data = dict[str, Any]


def libraries(names: Sequence[str]) -> list[Library | Suite]:
    """Return the libraries of kernels, and the suite of the primitives, for this machine."""
    modules = (importlib.import_module(f"smp.kernels.{module}") for name in names for module in KERNELS.get(name, ()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kept.CalibrationWarning)  # which asks for a calibration
        found = [library for module in modules for library in module.libraries()]
    return [*found, suite_here()] if NAME in names else found


class Calibration:
    """A calibration in progress and its results so far.

    Parameters
    ----------
    names : sequence of str
        Some of `NAMES`.
    folder : Path
        Folder in which it is saved, and in which an interrupted calibration is resumed.
    seed : int

    Attributes
    ----------
    data : dict
        Document that is saved.
    """

    def __init__(self, names: Sequence[str], folder: Path, seed: int) -> None:
        self.folder, self._seed = folder, seed
        self._libraries = libraries(names)
        self.data = kept.document([])
        self.data |= {"created": _now(), "seed": seed, "interrupted": True, "verdicts": {}}
        earlier = _earlier(folder / FILE)
        if earlier.get("interrupted") and earlier.get("seed") == seed:
            done = earlier.get("libraries", {})
            wanted = {each.name for each in self._libraries if done.get(each.name, {}).get("code") == _code(each)}
            for part in ("libraries", "verdicts"):
                self.data[part] = {name: found for name, found in earlier.get(part, {}).items() if name in wanted}

    def measure(self, progress: Progress) -> None:
        """Calibrate the libraries that are not done yet, and save each together with those before it.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; the finished libraries are saved, and so are the timings of the unfinished one.
        """
        total = len(self._libraries)
        for k, library in enumerate(self._libraries):

            def tick(done: float, text: str, before: int = k) -> None:
                progress((before + done) / total, text)

            def compared(done: float, text: str, after: int = k + 1) -> None:
                progress(after / total, f"fresh points, {text}")

            if library.name not in self.data["libraries"]:
                under_way = self.folder / UNDER_WAY.format(code=_code(library) or library.name)
                calibrate(library, seed=self._seed, resume=under_way, progress=tick)
                self.data["libraries"][library.name] = kept.entry(library, samples=True)
                self.save()
            if library.name not in self.data["verdicts"]:
                verdict = _verdict(library, self._new(library), compared)
                self.data["verdicts"][library.name] = verdict
                self.save()
                if verdict["kept"] == "earlier" and isinstance(library, Library):
                    kept.recalled(library)
        self.data["interrupted"] = False
        for left in self.folder.glob(UNDER_WAY.format(code="*")):  # of calibrations of earlier code
            left.unlink()

    def _new(self, library: Library | Suite) -> dict[str, Model]:
        """Return the new models of a library, by the names of its specifications."""
        found = self.data["libraries"][library.name]["models"]
        return {f"{library.name}/{name}": Model.from_json(model) for name, model in found.items()}

    def save(self) -> list[Path]:
        """Write the files, and keep the models for this machine together with those of other kernels.

        Models that have not been compared with the kept ones yet are not kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = list(models(self.data))
        files = {
            FILE: json.dumps(self.data),
            "models.py": "".join(f"{model.python()}\n\n" for model in made),
            "models.c": "#include <math.h>\n\n" + "\n\n".join(model.c() for model in made) + "\n",
        }
        for name, text in files.items():
            write(self.folder / name, text)
        decided = {name: found for name, found in self.data["libraries"].items() if name in self.data["verdicts"]}
        kept.keep({**self.data, "libraries": decided})
        return [self.folder / name for name in files]


def _verdict(library: Library | Suite, new: dict[str, Model], progress: Progress) -> Data:
    """Compare new models with the kept ones."""
    try:
        earlier = kept.kept_models(library)
    except ModelError as error:
        return {"kept": "new", "said": f"{library.name}: the new models are kept, because {error}"}
    if earlier is None:
        return {"kept": "new", "said": ""}
    found = compare(library, new, earlier, progress=progress)
    other = "earlier" if found.better else "new"
    made = found.to_json()
    return {**made, "said": f"{made['said']}; the {other} ones are set aside in {kept.set_aside_at()}"}


def _code(of: Library | Suite) -> str | None:
    """Return the digest of the code that is measured, by which an unfinished calibration knows whether to go on."""
    return kept.code_of(of) if isinstance(of, Library) else None


def models(data: Data) -> Iterator[Model]:
    """Yield the models of a document, library by library."""
    for library in data["libraries"].values():
        for model in library["models"].values():
            yield Model.from_json(model)


def load(path: Path) -> Data:
    """Read a saved calibration.

    Parameters
    ----------
    path : Path
        Path of ``calibration.json``, or of the folder that holds it.

    Raises
    ------
    ModelError
        The file is missing, damaged or of another format.
    """
    file = path / FILE if path.is_dir() else path
    data = kept.read(file)
    try:
        list(models(data))
    except ModelError as error:  # a range or an expression cannot be read
        raise ModelError(f"{file}: {error}") from error
    return data


def _earlier(file: Path) -> Data:
    try:
        return load(file)
    except ModelError:
        return {}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
