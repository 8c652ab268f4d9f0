"""Each profile in the folder ``profiles`` is valid, names no host, and can be compared with any other."""

import itertools
import json
from pathlib import Path

import pytest

import smp
from smp.profiles import Profile, published_machine
from smp.profiles.published import POWER_CHALLENGE

FOLDER = Path(__file__).parents[2] / "profiles"
FILES = sorted(FOLDER.glob("*.json"))

pytestmark = pytest.mark.filterwarnings("ignore:.*was measured on another machine")


def test_the_page_of_the_folder_has_a_row_for_each_file() -> None:
    text = (FOLDER / "README.md").read_text()
    assert FILES
    assert all(f"| `{path.name}` |" in text for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_loads_predicts_and_names_no_host(path: Path) -> None:
    profile = Profile.load(path)
    bad, good = (profile.predict(family, 2, 100_000, 100_000, 200_000)[0] for family in ("bad", "good"))
    assert bad > good > 0
    machine = json.loads(path.read_text())["machine"]
    assert machine.get("name") in (None, POWER_CHALLENGE)


@pytest.mark.parametrize("pair", list(itertools.permutations(FILES, 2)), ids=lambda pair: pair[0].stem)
def test_two_of_them_can_be_compared(pair: tuple[Path, Path]) -> None:
    found = smp.compare(*pair)
    rows = [row for row in found.rows if row.section == "access" and row.valid]
    assert {row.what for row in rows} >= {"good, 10,000 words, p = 2", "bad, 1,000,000 words, p = 2"}
    assert all((row.b < row.a) == (pair[0].stem == "sgi-power-challenge") for row in rows)  # it is the slowest


def test_the_published_one_is_what_its_tables_say() -> None:
    assert Profile.load(FOLDER / "sgi-power-challenge.json").data == published_machine(POWER_CHALLENGE).data
