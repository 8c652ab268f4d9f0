"""The page on machine files: its example is valid, and its tables list all machines and all keys."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT

from smp.machines import load, names
from smp.machines.layout.settings import Choice, Entries, Flag, Group, Number, Several, Text
from smp.machines.layout.tables import Tables

PAGE = (ROOT / "docs/machines.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def values_of(kind: Any) -> str:
    """Return the values that a setting may have, as the page shows them."""
    if isinstance(kind, Several):
        return f"list of {values_of(kind.each).replace('number', 'numbers')}"
    if isinstance(kind, Choice):
        return ", ".join(f'"{word}"' for word in kind.words)
    if isinstance(kind, Number):
        return kind.unit or (f"number of {kind.of}" if kind.of else "number")
    return {Flag: "true, false", Text: "text"}[type(kind)]


def keys_of(of: type, path: str) -> Iterator[str]:
    """Yield a row of the table of keys for each setting."""
    for one in fields(of):
        kind = one.metadata.get("kind")
        if isinstance(kind, Group):
            yield from keys_of(kind.of, f"{path}{one.name}.")
        elif kind is not None and not isinstance(kind, Entries):
            default = one.default
            shown = {MISSING: "needed", None: "", "": ""}.get(default, str(default).lower())
            yield f"| `{path}{one.name}` | {values_of(kind)} | {shown} | {one.metadata['meaning']} |"


def test_the_example_is_a_valid_machine(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(EXAMPLE)
    mine = load(tmp_path / "my.toml")
    assert mine.message
    assert mine.source_of("message.receive") == "measured with 100 waiting packets"
    assert mine.source_of("message.request") == "of the user"
    assert mine.message.receive == 1.5 * 200  # us of 200 MHz


def test_an_error_on_the_page_is_that_of_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(EXAMPLE.replace("request", "requset"))
    with pytest.raises(ValueError, match="requset") as caught:
        load("my.toml")
    shown = " ".join(line.strip() for line in re.findall(r"^    (.*)$", PAGE, re.MULTILINE))
    assert f"error: {caught.value}" in shown


def test_the_page_lists_the_machines() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \|", PAGE, re.MULTILINE)
    assert [(name, int(processors)) for name, processors in rows] == [(name, load(name).processors) for name in names()]


def test_the_page_lists_every_key_with_its_unit_default_and_meaning() -> None:
    table = PAGE.split("| key | values | default | meaning |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    assert table.splitlines() == list(keys_of(Tables, ""))
