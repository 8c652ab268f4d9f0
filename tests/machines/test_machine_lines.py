"""The line of a key is found in every form that TOML allows."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_files import SMALL

from smp.machines import files
from smp.machines.lines import line_of

FORMS = [
    ("[a]\nb = 1\n", 2),
    ("a.b = 1\n", 1),
    ("x = 1\na.x = 2\na.b = 1\n", 3),
    ('["a"]\n"b" = 1\n', 2),
    ("[a]\n  'b'  =  1\n", 2),
    ("x = '''\na.b = 3\n[a]\nb = 2\n'''\na = { x = 1, b = 2 }\n", 6),
    ('x = """\n[a]\nb = 2"""\n[a]\nb = 2\n', 5),
    ("x = [\n  ']',\n  '[a]',\n]\n[a]  # [b]\nb = [\n 1,\n 2]\n", 6),
    ("[ a . c ]\nb = 1\n[a]\nb = 1\n", 4),
    ("# b = 1\n\n\n[a]\n# b\nb = 1\n", 6),
    ("[a.b]\nc = 1\n", 1),
    ("[a.b.c]\nd = 1\n", 1),
    ("[[a]]\nb = 1\n", 2),
    ("[a]\nx = 1\n", 1),  # the header of the table in which it is missing
]


@pytest.mark.parametrize(("text", "line"), FORMS)
def test_the_line_of_a_key_is_found(text: str, line: int) -> None:
    tomllib.loads(text)
    assert line_of(text, ("a", "b")) == line
    assert line_of(text.replace("\n", "\r\n").replace("\r\n", "\n"), ("a", "b")) == line


def test_a_key_that_does_not_occur_has_no_line() -> None:
    assert line_of(SMALL, ("memory", "line")) is None
    assert line_of("", ("memory",)) is None


@given(
    st.lists(st.sampled_from(["", "# a comment", "x = [\n 1,\n]", "y = '''\n[message]\nrequest = 1\n'''"]), max_size=4)
)
def test_lines_before_a_table_move_its_line(before: list[str]) -> None:
    texts = [text.replace("x", f"x{k}").replace("y =", f"y{k} =") for k, text in enumerate(before)]
    text = "\n".join([*texts, SMALL])
    found = line_of(text, ("message", "request"))
    assert found
    assert text.split("\n")[found - 1] == "request = 60"


def test_lines_of_all_settings_of_shipped_files_name_their_last_key() -> None:
    for file in files.FOLDER.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        machine = files.load(file)
        for name in machine.sources:
            path = tuple(key.strip('"') for key in re.findall(r'"[^"]*"|[^."]+', name))  # names of loops have points
            found = line_of(text, path)
            assert found
            assert path[-1] in text.split("\n")[found - 1], (file, name)
