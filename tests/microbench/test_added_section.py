"""A section added by a folder and one line in the list is measured, kept, read again, compared and printed."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import added_section
from support.added_section.rows import Counted
from support.shapes import QUICK

from smp.errors import ProfileError
from smp.microbench import command
from smp.microbench.predictions.comparison import compare
from smp.microbench.sections import SECTIONS
from smp.profiles.profile import Profile

NAME = "added_section"
Document = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def added(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMP_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        patch.setitem(SECTIONS, NAME, added_section.SECTION)
        yield


@pytest.fixture(scope="module")
def measured(added: None, tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The profile of a measurement of the added section alone, as it is written."""
    return measure(tmp_path_factory.mktemp("out"))


def measure(folder: Path, *more: str) -> Document:
    assert command.main(["--quick", "-p", "1,2", "--only", NAME, "--no-plots", "--out", str(folder), *more]) == 0
    document: Document = json.loads((folder / "profile.json").read_text())
    return document


def read(document: Document, folder: Path) -> Profile:
    (folder / "profile.json").write_text(json.dumps(document))
    return Profile.load(folder)


def test_an_added_section_is_measured_and_read_again(measured: Document, tmp_path: Path) -> None:
    found = read(measured, tmp_path).data
    rows = [{"length": 1, "ns": 2.5}, {"length": 2, "ns": 5.0}]
    assert found[NAME] == {"rows": rows, "clean_fraction": 1.0, "valid": True, "why": []}
    assert found["conditions"]["clean_fraction"] == 1.0
    record = SECTIONS[NAME].records()(**found[NAME])
    assert isinstance(record, Counted)
    assert [row.ns for row in record.rows] == [2.5, 5.0]


def test_the_help_names_an_added_section() -> None:
    assert NAME in "".join(command.parser().format_help().split())


def test_an_added_section_is_checked_against_its_record(measured: Document, tmp_path: Path) -> None:
    document = copy.deepcopy(measured)
    document[NAME]["rows"][1]["length"] = 0
    with pytest.raises(ProfileError, match=r"damaged: added_section\.rows\[1\]\.length is 0"):
        read(document, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(SECTIONS, NAME)
        assert read(document, tmp_path).data == document, "a key that belongs to no section may hold anything"


@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning")
def test_the_other_keys_of_a_file_are_kept_when_a_section_is_added_to_it(tmp_path: Path) -> None:
    whole = json.loads(QUICK.read_text())
    whole |= {"weather": {"sky": None}, "latency": whole["latency"] | {"moon": [1]}}
    (tmp_path / "mine.json").write_text(json.dumps(whole))
    found = measure(tmp_path / "out", "--profile", str(tmp_path / "mine.json"))
    anew = {
        *("created", "smp", "machine", "facts", "conditions", "samples", "placement"),
        "access",
        NAME,
    }  # the section on access is judged when it is read
    assert set(found) == set(whole) | {NAME, "facts"}
    assert all(found[name] == whole[name] for name in set(whole) - anew)


def test_an_added_section_is_compared(measured: Document) -> None:
    other = copy.deepcopy(measured)
    other[NAME]["rows"].pop()
    found = compare(Profile(measured), Profile(other))
    assert [(row.section, row.what, row.gain) for row in found.rows] == [(NAME, "a step of 1", 1.0)]
    assert found.missing == ("b lacks 1 of 2 figures of an added section",)
    assert "An added section" in str(found)


def test_a_module_that_a_section_lacks_is_none() -> None:
    assert SECTIONS[NAME].part("plots", "figures") is None
    assert SECTIONS[NAME].part("probe", "measure") is not None


def test_an_added_section_is_printed(measured: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(measured, tmp_path)
    assert command.main(["--profile", str(tmp_path), "--no-plots"]) == 0
    printed = capsys.readouterr().out
    assert "An added section" in printed
    (line,) = [line.split() for line in printed.splitlines() if line.split()[:1] == ["2"]]
    assert line == ["2", "5.00"]
