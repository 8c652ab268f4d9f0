"""The structure of the package: nine public and four private parts, small modules, and imports without cycles."""

from __future__ import annotations

import ast
import graphlib
import importlib
import statistics
from collections import Counter
from pathlib import Path

import grimp
import pytest
from support.machines import ROOT
from support.sampled import shares

PACKAGE = ROOT / "smp"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DOORS = {"compiled", "errors", "kernels", "machines", "microbench", "models", "perturb", "profiles", "selection"}
WINGS = {"_commands", "_computer", "_output", "_runtime"}
MOST_FILES, MOST_LINES, MEDIAN_LINES = 20, 400, 150


def module_of(source: Path) -> str:
    parts = source.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Modules that each module imports: at once, late, and for its types."""
    graph = grimp.build_graph("smp", include_external_packages=False, exclude_type_checking_imports=False)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_the_package_has_nine_public_and_four_private_parts() -> None:
    entries = {entry.name.removesuffix(".py") for entry in PACKAGE.iterdir()} - {"__init__", "__main__", "__pycache__"}
    assert entries - {"py.typed"} == DOORS | WINGS


def test_folders_and_modules_are_small() -> None:
    lines = {source: len(source.read_text(encoding="utf-8").splitlines()) for source in SOURCES}
    files = Counter(source.parent for source in SOURCES)
    assert {str(folder): count for folder, count in files.items() if count > MOST_FILES} == {}
    assert {str(source): count for source, count in lines.items() if count > MOST_LINES} == {}
    assert statistics.median(lines.values()) < MEDIAN_LINES


def test_imports_have_no_cycles(imports: dict[str, set[str]]) -> None:
    """Late imports and those for types count. The package ``smp`` is left out: it only names other modules."""
    without_the_face = {module: known - {"smp"} for module, known in imports.items() if module != "smp"}
    graphlib.TopologicalSorter(without_the_face).prepare()  # raises CycleError, which names the modules


def test_only_kernels_import_smp_as_its_users_do(imports: dict[str, set[str]]) -> None:
    assert {module.split(".")[1] for module, known in imports.items() if "smp" in known} == {"kernels"}


def test_every_folder_of_modules_is_a_package() -> None:
    assert {str(source.parent) for source in SOURCES if not (source.parent / "__init__.py").exists()} == set()


def test_every_module_can_be_imported_and_has_a_docstring() -> None:
    for source in SOURCES:
        if source.name != "__main__.py":
            assert importlib.import_module(module_of(source)).__doc__, source


def test_no_module_has_the_name_of_a_function_in_it() -> None:
    """Otherwise the name of one would hide the other in the package."""
    for source in SOURCES:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assert source.stem not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, source


def test_every_test_that_the_ordinary_run_leaves_out_exists() -> None:
    for name in shares():
        file, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name
