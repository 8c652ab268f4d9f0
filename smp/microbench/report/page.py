"""The page of a profile: what is not valid, the key figures, a section for each measurement, and how it was measured.

    python -m smp.microbench   writes it as smp-report/index.html

Tables come from `whole_report`, figures from `plots`; nothing is computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from smp._computer.data import write
from smp._computer.description import named
from smp._output.figure import Figure
from smp._output.numbers import number
from smp._output.page.page import Caution, Page, Section, render
from smp._output.table import Part
from smp.profiles.profile import Profile

from ..output.format import UNKNOWN
from ..sections import SECTIONS
from . import whole_report
from .conditions import ID as METHOD
from .conditions import method
from .history import History, history_in
from .key_numbers import key_figures
from .plots import figures_of
from .results import result

NAME = "index.html"
NO_HISTORY: History = {}
SAMPLES = "The raw samples are in {}, in the folder of the profile."
Samples = Mapping[str, NDArray[Any]]


def write_page(profile: Profile, samples: Samples | None, folder: Path) -> Path:
    """Write the page of a profile into a folder, completely or not at all; return its path.

    Parameters
    ----------
    profile, samples
        As for `page_of`.
    folder : Path
    """
    write(folder / NAME, page_of(profile, samples, history_in(folder)))
    return folder / NAME


def page_of(profile: Profile, samples: Samples | None = None, history: History = NO_HISTORY) -> str:
    """Return the page of a profile as one HTML file. The same profile gives the same bytes.

    Parameters
    ----------
    profile : Profile
    samples : mapping of str to ndarray, optional
        Raw samples by section; they show how far the measurements spread.
    history : mapping of str to sequence of float
        Values of the key figures in earlier measurements and in this one.
    """
    data, summary = profile.data, whole_report.summary(profile)
    measured = [_section(profile, name, samples) for name in SECTIONS if data.get(name)]
    conditions, *answers = summary.tables
    page = Page(
        title=f"The costs of shared memory on {named(data.get('machine') or {})}",
        conditions=", ".join(_conditions(data)),
        cautions=list(_cautions(profile)),
        key_figures=[replace(one, history=history.get(one.name, ())) for one in key_figures(profile)],
        sections=[Section("summary", "Summary", tables=answers), *measured, method(profile, conditions)],
        data_name="profile.json",
        data=_file(profile),
        data_text=f"The profile has all numbers of this page. {SAMPLES.format(data.get('samples') or 'samples.npz')}",
    )
    return render(page)


def _section(profile: Profile, name: str, samples: Samples | None) -> Section:
    part: Part = whole_report.part(profile, name)
    why = part.note.removeprefix("Not valid: ").removesuffix(".")
    drawn: list[Figure] = list(figures_of(profile.data, name, samples))
    return Section(name, part.title, result(profile, name), why, drawn, part.tables)


def _cautions(profile: Profile) -> Iterator[Caution]:
    """Yield what limits the use of the numbers: an incomplete or disturbed measurement, and invalid sections."""
    conditions = profile.data.get("conditions") or {}
    if conditions.get("interrupted"):
        yield Caution("Interrupted", "the measurement was interrupted, and the rest was not measured")
    for when in ("before", "after"):
        if busy := (conditions.get(when) or {}).get("busy"):
            yield Caution(f"The computer was busy {when} the measurement", "; ".join(busy), METHOD)
    for name, section in SECTIONS.items():
        found = profile.section(name)
        if found is not None and found.valid is False:
            first, *more = found.why or [UNKNOWN]
            yield Caution(
                section.title[0].upper() + section.title[1:], f"{first}{f'; {len(more)} more' if more else ''}.", name
            )


def _conditions(data: Mapping[str, Any]) -> Iterator[str]:
    machine, conditions = data.get("machine") or {}, data.get("conditions") or {}
    yield f"{machine.get('cpus', '?')} CPUs"
    if machine.get("clock_GHz") and math.isfinite(machine["clock_GHz"]):
        yield f"{number(machine['clock_GHz'])} GHz ({machine.get('clock_source', 'source not known')})"
    if machine.get("kernel"):
        yield str(machine["kernel"])
    if data.get("created"):
        yield f"measured {data['created'][:16].replace('T', ' ')} UTC"
    if conditions.get("seconds"):
        yield f"in {conditions['seconds']:.0f} s ({conditions.get('mode', '?')})"
    yield f"smp {data.get('smp', '?')}"


def _file(profile: Profile) -> bytes:
    """Return the bytes of the profile's file."""
    if profile.path is not None and profile.path.exists():
        return profile.path.read_bytes()
    return json.dumps(profile.data, indent=1, allow_nan=False).encode()
