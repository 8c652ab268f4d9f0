"""The digest of a library's code changes with what its implementations compute, and with nothing else."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT

from smp._runtime.loops import package_code
from smp.selection.implementation import Implementation
from smp.selection.kept import code_of
from smp.selection.library import Library

TEXTS = {
    "family/__init__.py": "",
    "family/helpers.py": "def help(n):\n    return n + 1\n",
    "family/lists/__init__.py": "",
    "family/lists/forms.py": '"""All forms."""\n\n\ndef form(n):\n    """Form it."""\n    return n * n\n',
    "family/lists/inner/__init__.py": "",
    "family/lists/inner/loops.py": "def few(x):\n    return x in {'a', 'b', 'c', 'd'}\n",
    "family/grids/__init__.py": "",
    "family/grids/sweeps.py": "def sweep():\n    return 1\n",
}
Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """``edit(file, before, after)`` replaces a text in a file of a package."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within one second would not be noticed
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    importlib.import_module("family.lists.forms")

    def replace(file: str, before: str, after: str) -> None:
        text = (tmp_path / file).read_text()
        assert before in text
        (tmp_path / file).write_text(text.replace(before, after))
        package_code.digest_of.cache_clear()

    yield replace
    for name in [name for name in sys.modules if name.partition(".")[0] == "family"]:
        del sys.modules[name]
    package_code.digest_of.cache_clear()


def library() -> Library:
    made = Library("made", {"n": "1..100"}, lambda n: (n,))
    made.add(Implementation("form", partial(partial(sys.modules["family.lists.forms"].form), n=1), ["n"]))
    return made


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("family/lists/forms.py", "n * n", "n + n"),
        ("family/lists/forms.py", "n * n", "n * 2"),
        ("family/lists/inner/loops.py", "'d'}", "'e'}"),
        ("family/helpers.py", "n + 1", "n + 2"),
    ],
)
def test_an_edit_of_the_package_or_of_a_module_next_to_it_changes_the_digest(
    file: str, before: str, after: str, edit: Edit
) -> None:
    found = code_of(library())
    edit(file, before, after)
    assert code_of(library()) != found


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("family/lists/forms.py", '"""Form it."""', '"""Return the square."""'),
        ("family/lists/forms.py", '"""All forms."""', '"""All of the forms.\n\nThere is one.\n"""'),
        ("family/lists/forms.py", "return n * n", "# a square\n\n    return n * n"),
        ("family/grids/sweeps.py", "return 1", "return 2"),
    ],
)
def test_comments_docstrings_and_other_packages_do_not(file: str, before: str, after: str, edit: Edit) -> None:
    found = code_of(library())
    edit(file, before, after)
    assert code_of(library()) == found


def test_a_version_counts_but_for_its_last_number(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(numbers: dict[str, str]) -> str:
        monkeypatch.setattr(package_code, "version", numbers.__getitem__)
        package_code.digest_of.cache_clear()
        return code_of(library())

    found = at({"numpy": "2.1.3", "numba": "0.60.0"})
    assert at({"numpy": "2.1.4", "numba": "0.60.1"}) == found
    assert at({"numpy": "2.2.3", "numba": "0.60.0"}) != found
    assert at({"numpy": "2.1.3", "numba": "0.61.0"}) != found


def test_all_processes_find_the_same(edit: Edit, tmp_path: Path, script: Any) -> None:
    text = """
        import family.lists.forms
        from smp.selection.implementation import Implementation
        from smp.selection.kept import code_of
        from smp.selection.library import Library

        made = Library("made", {"n": "1..100"}, lambda n: (n,))
        made.add(Implementation("form", family.lists.forms.form, ["n"]))
        print(code_of(made))
    """
    path = f"{ROOT}{os.pathsep}{tmp_path}"
    started = [script(text, PYTHONPATH=path, PYTHONHASHSEED=str(seed)) for seed in (1, 2)]
    assert [process.communicate()[0].strip() for process in started] == [code_of(library())] * 2


def test_kernels_have_packages_of_their_own() -> None:
    names = ("sorting.choice", "lists.choice", "grids.choice", "messages.transposes")
    modules = [importlib.import_module(f"smp.kernels.{name}") for name in names]
    assert len({code_of(module.libraries()[0]) for module in modules}) == len(names)
