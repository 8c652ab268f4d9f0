"""Scripts that do what scripts do: fork, end in odd ways, return odd things."""

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


def test_a_fork_that_outlives_the_script_answers_nothing(tmp_path: Path) -> None:
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


def test_a_number_beyond_a_float_is_told_by_its_name(tmp_path: Path) -> None:
    text = """
        from smp.perturb import delay
        delay("here")
        delay("there")
        responses = {"ways": 10**400}
        """
    with pytest.raises(TrialFailed, match=r"a number called 'ways' that is larger than a float can be"):
        screened(tmp_path, text)


def test_trials_without_treatments_load_nothing_that_the_others_have_loaded(tmp_path: Path) -> None:
    """Else they take longer, and each delay seems to make the script faster."""
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


def test_a_process_that_a_script_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
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
    assert killed == len(left) >= 10  # of the first run, and those that were counted, too


def test_a_script_is_run_as_python_runs_it(tmp_path: Path) -> None:
    """Without the __future__ of others; and it ends when its threads do."""
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


def test_an_answer_that_breaks_off_is_none() -> None:
    """Of a trial that is killed while it writes; and one in several pieces is whole."""
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
