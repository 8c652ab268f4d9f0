"""The wheel that users install contains every module, data file and `py.typed`, and works without the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.machines import ROOT
from support.pages import blocks_of

IMPORTS = """
import importlib, pathlib, sys
import smp

root = pathlib.Path(smp.__file__).parent
assert root == pathlib.Path(sys.argv[1]) / "smp", root
for path in sorted(root.rglob("*.py")):
    name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    assert pathlib.Path(module.__file__) == path, module
print(smp.__version__)
"""


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
        cwd=environment.get("PWD"),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_of_the_sources(place: Path) -> Path:
    """Copy the files that setuptools reads to a place where it may create folders; return the place."""
    shutil.copytree(ROOT / "smp", place / "smp", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    return place


def modules(root: Path) -> set[str]:
    """Return the files that a wheel must have: modules, machine files, the parts of the page and `py.typed`."""
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.suffix in (".py", ".toml", ".css", ".j2", ".js") or path.name == "py.typed"
    }


def programs_of_the_pages() -> str:
    """Return the first programs of the README and of the page on cells, without the line that needs a profile."""
    blocks = [blocks_of((ROOT / page).read_text(encoding="utf-8"))[0] for page in ("README.md", "docs/cells.md")]
    kept = [line for block in blocks for line in block.splitlines() if "run.interval()" not in line]
    return "\n".join(kept)


def check_programs(python: object, place: Path, **environment: str) -> None:
    (place / "program.py").write_text(programs_of_the_pages())
    printed = run(python, place / "program.py", PWD=str(place), **environment).splitlines()
    assert printed == ["1000000", "(True, 2000)"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the files that setuptools packs into a wheel."""
    source = copy_of_the_sources(tmp_path_factory.mktemp("source"))
    library = tmp_path_factory.mktemp("library")
    build = "import setuptools; setuptools.setup()"
    run(sys.executable, "-c", build, "-q", "build", "--build-lib", library, PWD=str(source), PYTHONPATH="")
    return library


def test_all_modules_are_packed(built: Path) -> None:
    assert modules(built / "smp") == modules(ROOT / "smp")
    assert {"py.typed", "machines/cm5.toml"} <= modules(built / "smp")
    assert [path.name for path in built.iterdir()] == ["smp"]


def alone(built: Path, place: Path) -> dict[str, str]:
    """Return the environment in which Python finds the packed modules."""
    return {"PYTHONPATH": str(built), "PYTHONPYCACHEPREFIX": str(place / "bytecode")}


@pytest.mark.slow
def test_the_packed_modules_can_be_imported(built: Path, tmp_path: Path) -> None:
    import smp

    printed = run(sys.executable, "-c", IMPORTS, built, PWD=str(tmp_path), **alone(built, tmp_path))
    assert printed == f"{smp.__version__}\n"


@pytest.mark.slow
def test_the_packed_modules_run_programs(built: Path, tmp_path: Path) -> None:
    check_programs(sys.executable, tmp_path, **alone(built, tmp_path))


FOLDERS = ("benchmarks", "docs", "examples", "scripts", "smp", "tests")
"""Of the source distribution: its tests read them."""
MADE = {"__pycache__", "_build", "reference", "smp-report", ".ipynb_checkpoints"}
"""Folders that Python, ``scripts/site`` and notebooks make."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    source = tmp_path_factory.mktemp("checkout")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns(*MADE, ".*"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    build = "import setuptools; setuptools.setup()"
    run(sys.executable, "-c", build, "-q", "sdist", "--dist-dir", source / "dist", PWD=str(source), PYTHONPATH="")
    (packed,) = (source / "dist").glob("smp_runtime-*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(source / "unpacked", filter="data")
    (found,) = (source / "unpacked").iterdir()
    return found


def files(root: Path) -> set[str]:
    """The files that a source distribution must have, relative to the root."""
    found = (path for name in FOLDERS for path in (root / name).rglob("*") if path.is_file())
    return {str(path.relative_to(root)) for path in found if not MADE & set(path.parts) and path.name[0] != "."}


@pytest.mark.slow
def test_the_source_distribution_has_its_tests_and_all_that_they_read(unpacked: Path) -> None:
    assert files(unpacked) == files(ROOT)


@pytest.mark.slow
def test_the_source_distribution_passes_its_tests_of_the_documentation(unpacked: Path) -> None:
    tests = ("tests/commands/test_documentation.py", "tests/commands/test_examples.py")
    run(sys.executable, "-m", "pytest", "-q", *tests, PWD=str(unpacked), PYTHONPATH=str(unpacked))


@pytest.mark.slow
def test_a_wheel_installs_into_an_empty_environment(tmp_path: Path) -> None:
    """Its dependencies are installed from the package index."""
    source = copy_of_the_sources(tmp_path / "source")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, source, PYTHONPATH="")
    (wheel,) = tmp_path.glob("smp_runtime-*.whl")
    packed = {name.removeprefix("smp/") for name in zipfile.ZipFile(wheel).namelist() if name.startswith("smp/")}
    assert packed == modules(ROOT / "smp")
    run(sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", wheel, PYTHONPATH="")
    own = {"PYTHONPATH": "", "SMP_CACHE_DIR": str(tmp_path / "cache")}
    (installed,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    run(python, "-c", IMPORTS, installed, PWD=str(tmp_path), **own)
    check_programs(python, tmp_path, **own)
