"""The command ``smp``: its subcommands, their outputs and exit codes, and completion."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

import smp
from smp._commands import command
from smp._computer.description import hardware
from smp._computer.documents import Record
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import Measurement
from smp.profiles.profile import kept_at

PROFILE = Path(__file__).parents[1] / "data" / "profile"
Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def profile() -> Path:
    """A file with the whole profile of another computer."""
    return PROFILE / "quick.json"


def run(*words: object) -> int:
    return command.main([str(word) for word in words])


def usage(*words: object) -> object:
    """Return the exit code of wrong usage."""
    with pytest.raises(SystemExit) as left:
        run(*words)
    return left.value.code


def test_the_help_names_every_subcommand(capsys: Output) -> None:
    assert usage("--help") == 0
    text = capsys.readouterr().out
    for name, (_, summary) in command.SUBCOMMANDS.items():
        assert name in text
        assert summary in " ".join(text.split())


@pytest.mark.parametrize("name", command.SUBCOMMANDS)
def test_every_subcommand_has_a_help_and_refuses_unknown_options(name: str, capsys: Output) -> None:
    assert usage(name, "--help") == 0
    assert capsys.readouterr().out.startswith(f"usage: smp {name}")
    words = (["bash"] if name == "completion" else []) + ["--no-such-option"]
    assert usage(name, *words) == 2


def test_without_a_subcommand_the_help_goes_to_the_error_output(capsys: Output) -> None:
    assert run() == 2
    assert capsys.readouterr().err.startswith("usage: smp")


def test_a_misspelt_subcommand_is_corrected(capsys: Output) -> None:
    assert usage("mesure") == 2
    assert "there is no subcommand 'mesure': did you mean measure?" in capsys.readouterr().err


def test_the_command_is_installed_and_prints_the_version() -> None:
    file = Path(sys.executable).with_name("smp")
    for words in ([str(file)], [sys.executable, "-m", "smp"]):
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"smp {smp.__version__}\n"


def test_the_help_imports_neither_numba_nor_scipy() -> None:
    code = "import sys; from smp._commands import command; command.parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "scipy", "matplotlib", "rich"} & set(done.stdout.split())


class Completed:
    """Completes lines as a shell would ask the installed command to."""

    def __call__(self, line: str) -> set[str]:
        code = "from smp._commands.command import main; main()"
        environment = {**os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash"}
        environment |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": "completions"}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
        return {word.strip() for word in Path("completions").read_text().splitlines()}


def test_subcommands_and_their_options_are_completed() -> None:
    complete = Completed()
    assert complete("smp com") == {"compare", "completion"}
    assert complete("smp measure --qu") == {"--quick"}
    assert complete("smp machines ") >= {"show", "check", "compare"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_lines_that_complete_smp(shell: str, capsys: Output) -> None:
    assert run("completion", shell) == 0
    text = capsys.readouterr().out
    assert "_ARGCOMPLETE" in text
    assert "smp" in text


def test_a_profile_is_shown_in_all_forms(profile: Path, capsys: Output) -> None:
    for form, begins in (("--json", "{"), ("--csv", "Machine,"), ("--markdown", "|"), (None, "Machine")):
        assert run("show", profile, *([form] if form else [])) == 0
        assert capsys.readouterr().out.startswith(begins)
    assert not list(Path().glob("*.png"))


def test_only_some_sections_are_shown(profile: Path, capsys: Output) -> None:
    assert run("show", profile, "--only", "access", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert "access" in shown
    assert "latency" not in shown
    assert run("show", profile, "--only", "node_programs") == 1
    assert "has no section node_programs: measure it with --only node_programs" in " ".join(
        capsys.readouterr().err.split()
    )


def test_the_folder_of_a_report_is_shown_by_default(profile: Path, capsys: Output) -> None:
    assert run("show") == 1
    assert "no profile of this machine has been measured yet" in " ".join(capsys.readouterr().err.split())
    Path("smp-report").mkdir()
    Path("smp-report/profile.json").write_bytes(profile.read_bytes())
    assert run("show", "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(profile.read_text())


def test_the_schema_accepts_profiles_and_names_all_sections(profile: Path, capsys: Output) -> None:
    from smp.microbench.sections import SECTIONS
    from smp.profiles.layout import profile_layout

    assert run("show", "--schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(SECTIONS) < set(schema["properties"])
    profile_layout().model_validate(json.loads(profile.read_text()))
    with pytest.raises(pydantic.ValidationError):
        profile_layout().model_validate({"version": 1, "machine": {"cpu": "a CPU", "cpus": -1}})


def test_profiles_are_compared_and_one_alone_with_the_last(profile: Path, capsys: Output) -> None:
    assert run("compare", profile, profile, "--json") == 0
    same = json.loads(capsys.readouterr().out)
    assert run("compare", profile) == 1
    assert "no profile of this machine" in " ".join(capsys.readouterr().err.split())
    kept = kept_at(hardware() | {"kind": "host"})
    kept.parent.mkdir()
    kept.write_bytes(profile.read_bytes())
    assert run("compare", profile, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == len(same["rows"])


def test_the_price_of_a_program_is_printed(capsys: Output) -> None:
    assert run("impact", "radix,1e6,8", "--profile", "SGI Power Challenge", "--json") == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "radix"
    assert usage("impact", "bogo,1,1") == 2


def test_machines_are_shown_in_all_forms(capsys: Output) -> None:
    assert run("machines", "show", "cm5", "--json") == 0
    assert json.loads(capsys.readouterr().out)["message"]["receive"]["value"] == 62
    assert run("machines", "compare", "cm5", "paragon", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["cm5", "paragon"]


SCRIPT = """
import sys
from smp.perturb import factor
def main():
    with factor("hot"):
        pass
if __name__ == "__main__":
    main()
    print("words", *sys.argv[1:])
"""


def test_an_experiment_is_run_and_shown(capsys: Output) -> None:
    Path("script.py").write_text(SCRIPT)
    assert run("perturb", "script.py", "--delay", "1ms", "--no-plots", "--markdown") == 0
    printed = capsys.readouterr().out
    assert "| hot |" in printed
    assert run("show", "smp-perturb", "--markdown") == 0
    assert capsys.readouterr().out == printed
    assert run("perturb", "script.py", "--list", "--csv") == 0
    assert "hot" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["run", "script.py"], ["script.py"], ["run", "-m", "script"], ["-m", "script"]])
def test_a_script_is_run_with_its_words(words: list[str]) -> None:
    Path("script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "smp", *words, "-a", "b"], capture_output=True, text=True, check=True)
    assert done.stdout == "words -a b\n"


def test_machine_code_is_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from smp._commands.command import main; import sys; sys.exit(main())"
    environment = {**os.environ, "SMP_CACHE_DIR": str(tmp_path / "cache")}

    def cache(*words: str) -> list[dict[str, object]]:
        line = [sys.executable, "-c", code, "cache", "--json", *words]
        done = subprocess.run(line, env=environment, check=True, capture_output=True, text=True)
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found

    folder = Path(str(cache()[0]["folder"]))
    (folder / "loop-1.nbi").write_bytes(b"0123456789")
    (folder / "lock3").touch()
    rows = cache()
    assert [(row["content"], row["files"], row["bytes"]) for row in rows] == [
        ("machine code", 1, 10),
        ("measurements", 0, 0),
    ]
    assert cache("--clear")[0]["files"] == 0
    assert (folder / "lock3").exists()


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each section be measured at once, with its name as its result."""

    def probe(self: Campaign, name: str) -> Callable[..., Measurement]:
        return lambda tick: Measurement(Record(valid=True, why=[], of=name), {})

    monkeypatch.setattr(Campaign, "_probe", probe)


def test_a_measurement_from_python_returns_the_profile_and_keeps_it(probes: None, capsys: Output) -> None:
    profile = smp.measure(quick=True, only=["latency", "waking"], processors=[1], out="there")
    assert profile.data["conditions"]["mode"] == "quick"
    assert profile.data["conditions"]["processors"] == [1]
    assert profile.data["waking"]["of"] == "waking"
    assert json.loads(Path("there/profile.json").read_text()) == profile.data
    assert "latency: " in capsys.readouterr().err


def test_an_interrupted_measurement_from_python_continues(
    probes: None, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    usual = Campaign._probe

    def interrupted(self: Campaign, name: str) -> Callable[..., Measurement]:
        if name == "waking":
            raise KeyboardInterrupt
        return usual(self, name)

    monkeypatch.setattr(Campaign, "_probe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        smp.measure(quick=True, only=["latency", "waking"])
    assert "latency" in json.loads(Path("smp-report/profile.json").read_text())
    monkeypatch.setattr(Campaign, "_probe", usual)
    assert "waking" in smp.measure(quick=True, only=["latency", "waking"]).data
    assert "latency done" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"quick": True, "full": True}, "quick and full are both set"),
        ({"word_bytes": 3}, "word_bytes must be 4 or 8, not 3"),
        ({"hosts": "a:2"}, "hosts and launcher go only with mpi"),
        ({"mpi": 2, "processors": [2]}, "a machine of MPI has 2 processors"),
        ({"budget": 0}, "budget must be a number of seconds above 0, not 0"),
        ({"only": ["weather"]}, "no section 'weather' of a machine of the kind 'host': choose from placement"),
        ({"only": ["nodes"]}, "no section 'nodes' of a machine of the kind 'host'"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        smp.measure(**options)  # type: ignore[arg-type]
