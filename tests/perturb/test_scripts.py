"""Experiments with scripts that fork, end in unusual ways, or return unusual values."""

import contextlib
import os
import signal
import textwrap
from pathlib import Path

import pytest

from smp._computer.interrupt import HeldBack
from smp.errors import TrialFailed
from smp.perturb import Trials, screen
from smp.perturb.experiments.script import _answer


def screened(tmp_path: Path, text: str) -> Trials:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return screen(script, "2^2", treatment="0ns", factors=("here", "there"), replicates=2)


def test_a_forked_child_of_a_script_reports_nothing(tmp_path: Path) -> None:
    trials = screened(
        tmp_path,
        """
        import os
        from smp.perturb import factor
        with factor("here"):
            pass
        with factor("there"):
            child = os.fork()
        responses = {"parent": child > 0}
        """,
    )
    assert trials.met["here"].passes == trials.met["there"].passes == 1
    assert trials.table["parent"].tolist() == [1.0] * 8


def test_a_number_too_large_for_a_float_is_reported_by_its_name(tmp_path: Path) -> None:
    text = """
        from smp.perturb import delay
        delay("here")
        delay("there")
        responses = {"ways": 10**400}
        """
    with pytest.raises(TrialFailed, match=r"a number called 'ways' that is larger than a float can be"):
        screened(tmp_path, text)


def test_trials_without_treatments_have_loaded_as_much_as_the_others(tmp_path: Path) -> None:
    """Otherwise they would take longer, and each delay would seem to make the script faster."""
    trials = screened(
        tmp_path,
        """
        from smp._runtime.loops import places
        responses = {"loaded": places._native.cache_info().currsize}
        from smp.perturb import delay
        delay("here")
        delay("there")
        """,
    )
    assert trials.table["loaded"].tolist() == [1.0] * 8


def test_an_experiment_does_not_wait_for_processes_that_a_script_leaves_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    try:
        trials = screened(
            tmp_path,
            f"""
            import os, time
            from smp.perturb import delay
            delay("here")
            delay("there")
            left = os.fork()
            if left == 0:
                time.sleep(60)
                os._exit(0)
            with open({str(pids)!r}, "a") as file:
                print(left, file=file)
            """,
        )
    finally:
        left = [int(pid) for pid in pids.read_text().split()]
        killed = 0
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    assert len(trials.table) == 8
    assert killed == len(left) >= 10  # including those of the first run and of the counted runs


def test_a_script_runs_as_python_runs_it(tmp_path: Path) -> None:
    """It has no __future__ imports of other modules, and it ends when its threads end."""
    trials = screened(
        tmp_path,
        """
        import threading, time
        from smp.perturb import factor

        def later(n: int):
            with factor("here"):
                time.sleep(0.02)
            with factor("there"):
                done.append(n)

        done = []
        assert later.__annotations__["n"] is int
        threading.Thread(target=later, args=(1,)).start()
        """,
    )
    assert trials.met["there"].passes == 1
    assert trials.responses().min() >= 0.02


def test_an_incomplete_answer_is_discarded() -> None:
    """A trial may be killed while it writes its answer; an answer that arrives in several pieces is complete."""
    for told, whole in ((b"half", b""), (b"x" * 200_000, b"x" * 200_000)):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with open(write, "wb") as pipe:
                pipe.write((len(told) if whole else 100).to_bytes(8, "little") + told)
            os._exit(0)
        os.close(write)
        with HeldBack() as ctrl_c:
            assert _answer(read, child, ctrl_c) == whole
        os.waitpid(child, 0)
