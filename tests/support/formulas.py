"""Random expressions of two inputs, as text, for the tests of models, and a way to compile and call C functions.

`EXACT` holds only operations that IEEE 754 rounds correctly, so Python, NumPy and C must agree to the last bit, which
steps and comparisons need. `SMOOTH` adds functions that libraries round differently. They stand outside of all steps.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

INPUTS = ("n", "m")
OPERATIONS = [
    *("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "-{a}", "{a} if {c} else {b}", "{c}", "{c} + {d}"),
    *("{c} / {b}", "min({a}, {b}, n)", "max({a}, {b})", "floor({a})", "ceil({a})", "sqrt(abs({a}))"),
]
CONDITIONS = ["{a} < {b}", "{a} <= {b} < {e}", "{a} == {b}", "not {a} > {b}", "{a} != {b} and {b} >= {e}", "{c} or {d}"]


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw a number, an input, or an expression made of them by operations that all libraries round alike."""
    if depth == 0:
        return draw(st.sampled_from(["n", "m", "0", "1", "2", "3", "0.5", "10", "1e3"]))
    return f"({draw(made_of(OPERATIONS, depth - 1))})"


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    """Draw a comparison of such numbers, or a combination of comparisons."""
    forms = CONDITIONS if depth else CONDITIONS[:-1]
    return f"({draw(made_of(forms, max(0, depth - 1)))})"


@st.composite
def made_of(draw: st.DrawFn, forms: list[str], depth: int) -> str:
    """Draw one of the forms, with numbers for a, b and e, and conditions for c and d."""
    form = draw(st.sampled_from(forms))
    given = {name: conditions(depth) if name in "cd" else numbers(depth) for name in "abcde" if f"{{{name}}}" in form}
    return form.format(**{name: draw(strategy) for name, strategy in given.items()})


@st.composite
def smooth(draw: st.DrawFn) -> str:
    """Draw a function that libraries round differently: a logarithm, an exponential, or a power."""
    a, power = draw(numbers()), draw(st.sampled_from(["2", "1.5", "-1", "0.25"]))
    return draw(
        st.sampled_from([f"log(1 + abs({a}))", f"log2(1 + abs({a}))", f"exp(-abs({a}))", f"(1 + abs({a})) ** {power}"])
    )


EXACT, SMOOTH = numbers(), smooth()
VALUES = st.integers(1, 10**6).map(float) | st.floats(0.01, 1e6)
POINTS = [(1.0, 1.0), (7.0, 3.0), (1e5, 12.5), (0.1, 64.0)]

needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
rarely = settings(
    max_examples=4, derandomize=True, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
"""Settings for tests in which each example holds many formulas that are compiled at once."""


def in_c(functions: Sequence[str], names: Sequence[str], folder: Path) -> list[Callable[[float, float], float]]:
    """Compile C functions of two doubles; return them as functions of Python."""
    source, made = folder / "functions.c", folder / "functions.so"
    source.write_text("#include <math.h>\n" + "\n".join(functions))
    options = ["-std=c99", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", str(made), str(source), "-lm"], check=True)
    compiled, double = ctypes.CDLL(str(made)), ctypes.c_double
    return [ctypes.CFUNCTYPE(double, double, double)((name, compiled)) for name in names]
