"""Scripts that do what scripts do: fork, end in odd ways, return odd things."""

import textwrap
from pathlib import Path

import pytest

from smp.errors import TrialFailed
from smp.perturb import Trials, screen


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
