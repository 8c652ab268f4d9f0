"""Machine files that are damaged at random: each is refused by a named error, or gives a description that is valid."""

import contextlib
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audited import quiet
from support.machine_files import SMALL
from support.mutations import mutated

import smp
from smp.machines import files, load, names
from smp.machines.writing import document

TEXTS = [SMALL, *(file.read_text(encoding="utf-8") for file in sorted(files.FOLDER.glob("*.toml")))]
JUNK = (
    *(
        "",
        "-1",
        "0",
        "nan",
        "inf",
        "true",
        '"x"',
        "[]",
        "{}",
        "[1, 'a']",
        "1e400",
        "9" * 20,
        "1979-05-27",
        "'''",
        '"""',
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        "=",
        ".",
        "#",
        "\n",
        "\\",
        "\x00",
        "\x7f",
        "\u2028",
        "[message]",
        "[[message]]",
        "value",
        "unit",
    ),
)
LONGEST_S = 10.0


def loaded(source: Any) -> Any:
    """Load a file or document, in bounded time, and run nothing that stands in it."""
    began = time.monotonic()
    try:
        with quiet():
            return load(source)
    finally:
        assert time.monotonic() - began < LONGEST_S


def check(file: Path) -> bool:
    """Load a file; return False if it is refused. What it gives must be valid and read back equal."""
    try:
        made = loaded(file)
    except smp.MachineFileError as error:
        found = error
    else:
        assert load(document(made)) == made
        return True
    assert "\n" not in str(found)
    assert str(found).startswith(str(file))
    assert found.line is None or 1 <= found.line <= file.read_bytes().count(b"\n") + 1
    return False


@given(
    st.sampled_from(TEXTS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(JUNK)), max_size=3)
)
def test_damaged_texts_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, text: str, edits: list[tuple[float, int, str]]
) -> None:
    for where, length, junk in edits:
        at = int(where * len(text))
        text = text[:at] + junk + text[at + length :]
    file = tmp_path_factory.getbasetemp() / "damaged.toml"
    file.write_text(text, encoding="utf-8")
    check(file)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "bytes.toml"
    file.write_bytes(content)
    assert not check(file)


@pytest.mark.parametrize(("seed", "number"), [(1, 150), pytest.param(2, 5_000, marks=pytest.mark.slow)])
def test_damaged_documents_are_refused_or_read(seed: int, number: int) -> None:
    rng, refused = random.Random(seed), 0
    documents = [document(load(name)) for name in names()]
    for k in range(number):
        damaged = None
        with contextlib.suppress(ValueError, RecursionError):  # damaged as text
            damaged = json.loads(mutated(rng.choice(documents), rng))
        if damaged is None:
            continue
        message = ""
        try:
            made = loaded(damaged)
        except smp.MachineFileError as error:
            refused, message = refused + 1, str(error)
        else:
            assert load(document(made)) == made, k
        assert "\n" not in message, k
    assert number / 10 < refused < number, "some mutations are harmless, and some are not"


@pytest.mark.parametrize(
    "text", ["[" * 60_000, "{" * 60_000, "a = " + "[" * 60_000, "x." * 30_000, "\n" * 60_000, "]" * 60_000]
)
def test_files_that_are_long_or_deep_end_soon(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text)
    assert not check(tmp_path / "deep.toml")
