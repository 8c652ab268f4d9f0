"""The folder of machine code: no code is loaded from one that others could change, and nothing is left behind."""

import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machines import ROOT
from support.sampled import each

from smp._runtime.loops import code_folder, kept_code
from smp._runtime.protocols import entry_points
from smp.errors import MachineError

STRANGER = 12345
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")

LOOP = """
import smp

@smp.local
def doubled(a):
    return a + a

print(doubled(21))
"""


def run(program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a place for usual folders and one for private folders, with none chosen yet in this process."""
    monkeypatch.setattr(code_folder, "_folder", None)
    monkeypatch.setattr(code_folder, "_made", [])
    monkeypatch.setenv("SMP_CACHE_DIR", str(tmp_path / "usual"))
    monkeypatch.delenv(code_folder.PRIVATE, raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


@pytest.fixture(scope="module")
def compiled() -> Path:
    """Return the folder of the runtime's own machine code, which takes long to make."""
    entry_points.core()
    return entry_points._FILES.path().parent


@pytest.fixture(scope="module")
def primed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a program, and a folder of machine code that holds its loop."""
    place = tmp_path_factory.mktemp("primed")
    (place / "program.py").write_text(LOOP)
    assert run(place / "program.py", SMP_CACHE_DIR=str(place / "usual")).stdout == "42\n"
    return place


def writable(folder: Path) -> None:
    folder.chmod(0o777)


def of_the_group(folder: Path) -> None:
    folder.chmod(0o770)


def in_a_folder_of_all(folder: Path) -> None:
    folder.parent.chmod(0o777)


def writable_within(folder: Path) -> None:
    folder.chmod(0o755)
    next(entry for entry in folder.iterdir() if entry.is_dir()).chmod(0o777)


def a_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def of_another(folder: Path) -> None:
    os.chown(folder, STRANGER, -1)


def in_a_folder_of_another(folder: Path) -> None:
    os.chown(folder.parent, STRANGER, -1)


def holding_a_file_of_another(folder: Path) -> None:
    folder.chmod(0o711)
    os.chown(next(folder.rglob("*.code")), STRANGER, -1)


OPENED = [
    writable,
    of_the_group,
    in_a_folder_of_all,
    writable_within,
    a_link,
    pytest.param(of_another, marks=AS_ROOT),
    pytest.param(in_a_folder_of_another, marks=AS_ROOT),
    pytest.param(holding_a_file_of_another, marks=AS_ROOT),
]


@pytest.mark.parametrize("opened", OPENED)
def test_a_folder_that_others_could_change_is_not_used(fresh: Path, opened: Callable[[Path], None]) -> None:
    folder = code_folder.cache_folder()
    assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (fresh / "usual", 0o700)
    (folder / "sub").mkdir()
    (folder / "sub" / "some.code").touch()
    opened(folder)
    with pytest.warns(code_folder.CacheWarning, match="SMP_CACHE_DIR") as told:
        private = code_folder.cache_folder()
    assert str(fresh / "usual") in str(told[0].message)
    assert private.parent.parent == fresh / "tmp"
    assert stat.S_IMODE(private.parent.stat().st_mode) == 0o700
    assert code_folder.cache_folder() == private, "it is chosen, and reported, only once"
    code_folder._remove()
    assert not list((fresh / "tmp").iterdir())


@pytest.mark.parametrize(
    "opened", [*each(3, [writable, writable_within, a_link]), pytest.param(of_another, marks=AS_ROOT)]
)
def test_code_that_others_have_planted_is_not_run(primed: Path, fresh: Path, opened: Callable[[Path], None]) -> None:
    shutil.copytree(primed / "usual", fresh / "usual")
    (folder,) = (fresh / "usual").iterdir()
    (folder / "sub").mkdir()
    for path in folder.glob("*.code"):
        kept_code.write(path, _planted(fresh / "planted"))
    opened(folder)
    done = run(primed / "program.py", TMPDIR=str(fresh / "tmp"))
    assert done.stdout == "42\n"
    assert not (fresh / "planted").exists()
    assert done.stderr.count("CacheWarning") == 1
    assert not list((fresh / "tmp").iterdir())


def a_file_of_another(file: Path) -> None:
    os.chown(file, STRANGER, -1)


def a_file_for_the_group(file: Path) -> None:
    file.chmod(0o620)


def a_file_for_all(file: Path) -> None:
    file.chmod(0o602)


def a_link_to_a_file(file: Path) -> None:
    file.rename(file.parent.parent / file.name)
    file.symlink_to(file.parent.parent / file.name)


@pytest.mark.parametrize(
    ("opened", "why"),
    [
        pytest.param(a_file_for_the_group, r"others may write to it \(-rw--w----\)", marks=pytest.mark.slow),
        (a_file_for_all, r"others may write to it \(-rw-----w-\)"),
        pytest.param(a_link_to_a_file, "it is a link", marks=pytest.mark.slow),
        pytest.param(
            a_file_of_another, rf"it belongs to another user \(uid {STRANGER}\)", marks=[AS_ROOT, pytest.mark.slow]
        ),
    ],
)
def test_a_planted_file_in_a_trusted_folder_is_not_loaded(
    primed: Path, fresh: Path, opened: Callable[[Path], None], why: str
) -> None:
    """It may be older than the folder's present rights."""
    shutil.copytree(primed / "usual", fresh / "usual")
    (path,) = (fresh / "usual").rglob("*doubled*.code")
    kept_code.write(path, _planted(fresh / "planted"))
    opened(path)
    done = run(primed / "program.py")
    assert done.stdout == "42\n"
    assert not (fresh / "planted").exists()
    (said,) = [line for line in done.stderr.splitlines() if "CacheWarning" in line]
    assert re.search(rf"the machine code in \S+\.code is not used: {why}, so", said)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert run(primed / "program.py").stderr == "", "the file was replaced"


def test_planted_code_in_a_trusted_folder_would_be_run(primed: Path, fresh: Path) -> None:
    """Otherwise the test above could not fail."""
    shutil.copytree(primed / "usual", fresh / "usual")
    for path in (fresh / "usual").rglob("*.code"):
        kept_code.write(path, _planted(fresh / "planted"))
    assert run(primed / "program.py").stderr == ""
    assert (fresh / "planted").exists()


def _planted(shows: Path) -> bytes:
    class Plant:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
            return os.mkdir, (str(shows),)

    return pickle.dumps(Plant())


def test_a_file_in_place_of_the_folder_is_reported_and_avoided(fresh: Path) -> None:
    (fresh / "usual").write_text("")
    with pytest.warns(code_folder.CacheWarning, match=f"{fresh}/usual"):
        assert code_folder.cache_folder().parent.parent == fresh / "tmp"


def test_a_user_without_a_home_gets_a_private_folder(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SMP_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.warns(code_folder.CacheWarning, match="home"):
        assert code_folder.cache_folder().parent.parent == fresh / "tmp"


def test_a_temporary_directory_that_others_can_rearrange_is_refused(fresh: Path) -> None:
    (fresh / "usual").write_text("")
    (fresh / "tmp").chmod(0o777)
    with pytest.raises(MachineError, match=r"chmod go-w .*/tmp.*SMP_CACHE_DIR"):
        code_folder.cache_folder()
    (fresh / "tmp").chmod(0o1777)
    with pytest.warns(code_folder.CacheWarning):
        code_folder.cache_folder()


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_a_new_folder_is_trusted_whatever_the_umask(fresh: Path, monkeypatch: pytest.MonkeyPatch, umask: int) -> None:
    monkeypatch.setenv("SMP_CACHE_DIR", str(fresh / "deep" / "deeper"))
    before = os.umask(umask)
    try:
        folder = code_folder.cache_folder()
        (folder / "some.code").touch()
        assert code_folder.cache_folder() == folder
    finally:
        os.umask(before)
    assert folder.parent == fresh / "deep" / "deeper"


def test_parent_folders_may_be_links_or_have_unknown_owners(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fresh / "real").mkdir()
    (fresh / "link").symlink_to("real")
    if os.geteuid() == 0:  # as in a container: the owner is a user outside it
        os.chown(fresh / "real", code_folder._UNKNOWN, -1)
    monkeypatch.setenv("SMP_CACHE_DIR", str(fresh / "link" / "cache"))
    assert code_folder.cache_folder().parent == fresh / "real" / "cache"


MACHINES = """
import shutil, sys
from pathlib import Path
import smp
from smp._runtime.loops.code_folder import cache_folder

@smp.local
def doubled(a):
    return a + a

def made():
    return {path: path.stat().st_mtime_ns for path in cache_folder().rglob("*") if path.suffix in (".code", ".objects")}

def program(proc):
    return doubled(proc.rank), str(cache_folder())

if __name__ == "__main__":
    for file in Path(sys.argv[1]).glob("core-*"):
        shutil.copy(file, cache_folder())
    assert doubled(21) == 42
    before = made()
    for method in ("forkserver", "spawn", "fork"):
        with smp.host(2, start=method) as machine:
            assert machine.run(program).results == [(0, str(cache_folder())), (2, str(cache_folder()))]
    assert made() == before, "nothing is compiled twice"
    print(cache_folder())
"""


def test_workers_use_the_private_folder_which_is_removed_at_the_end(compiled: Path, fresh: Path) -> None:
    (fresh / "usual").write_text("")
    (fresh / "program.py").write_text(MACHINES)
    done = run(fresh / "program.py", str(compiled), TMPDIR=str(fresh / "tmp"))
    assert done.stdout.startswith(str(fresh / "tmp"))
    assert done.stderr.count("CacheWarning") == 1
    assert not list((fresh / "tmp").iterdir())


FORKS = """
import os, sys, time
import smp
from smp._runtime.loops.code_folder import cache_folder

@smp.local
def doubled(a):
    return a + a

assert doubled(21) == 42
before = cache_folder()
if os.fork():
    sys.exit()  # and removes what it has made
while before.parent.exists():  # it is removed after what it holds
    time.sleep(0.01)
assert doubled(1.5) == 3
assert cache_folder() != before
assert not before.exists()
print("right")
"""


def test_a_forked_process_may_outlive_the_folder_of_its_parent(fresh: Path) -> None:
    (fresh / "usual").write_text("")
    (fresh / "program.py").write_text(FORKS)
    done = run(fresh / "program.py", TMPDIR=str(fresh / "tmp"))
    assert done.stdout == "right\n", done.stderr
    assert not list((fresh / "tmp").iterdir())
