"""Expressions: the same meaning in Python, NumPy and C, and only the permitted constructs."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.formulas import EXACT, INPUTS, POINTS, SMOOTH, VALUES, in_c, needs_c, rarely
from support.sampled import examples

from smp.errors import ModelError
from smp.models.fit.expressions import FUNCTIONS, RESERVED, Expression, python_function

Number = int | float


def in_python(expression: Expression, *values: Number) -> float:
    return float(python_function("value", INPUTS, expression.python)(*values))


def defined(expression: Expression, *values: Number) -> float:
    """Return the value in Python; drop the example if it has none."""
    try:
        value = in_python(expression, *values)
    except (ZeroDivisionError, OverflowError):
        assume(False)
    assume(math.isfinite(value))
    return value


@given(EXACT, st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
@settings(max_examples=examples(300), deadline=None)
def test_numbers_and_arrays_agree_to_the_last_bit(text: str, points: list[tuple[float, float]]) -> None:
    expression = Expression(text, INPUTS)
    expected = [defined(expression, *point) for point in points]
    n, m = np.array(points).T
    assert expression.of({"n": n, "m": m}).tolist() == expected


@given(SMOOTH, VALUES, VALUES)
@settings(max_examples=examples(100), deadline=None)
def test_numbers_and_arrays_agree_up_to_rounding_if_functions_round(text: str, n: float, m: float) -> None:
    expression = Expression(text, INPUTS)
    assert expression.of({"n": n, "m": m}) == pytest.approx(defined(expression, n, m), rel=1e-12)


@given(EXACT, VALUES, VALUES)
@settings(max_examples=examples(100), deadline=None)
def test_a_factor_before_the_text_multiplies_all_of_it(text: str, n: float, m: float) -> None:
    expression = Expression(text, INPUTS)
    value = defined(expression, n, m)
    assert python_function("value", INPUTS, f"3 * {expression.python}")(n, m) == 3 * value


@needs_c
@given(st.lists(EXACT, min_size=60, max_size=60, unique=True))
@rarely
def test_c_agrees_with_python_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    expressions = [Expression(text, INPUTS) for text in texts]
    names = [f"f{k}" for k in range(len(texts))]
    sources = [
        f"double {name}(double n, double m) {{ return {expression.c}; }}"
        for name, expression in zip(names, expressions, strict=True)
    ]
    functions = in_c(sources, names, tmp_path_factory.mktemp("c"))
    for expression, function in zip(expressions, functions, strict=True):
        for n, m in POINTS:
            with contextlib.suppress(ZeroDivisionError, OverflowError):
                assert in_python(expression, n, m) == function(n, m), (expression.text, n, m)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(n > 1) + (m > 1)", 2.0),  # NumPy alone would add two truth values to one
        ("(n > 1) / ((n > 1) + (m > 1))", 0.5),  # C alone would divide them as integers
        ("-(n > 1)", -1.0),
        ("n > 1", 1.0),
        ("not n > 1", 0.0),
        ("2 < n < 4", 0.0),
        ("2 <= m < 4", 1.0),
        ("min(n, m, 1.5)", 1.5),
        ("max(0, m - n, 1)", 1.0),
        ("-m ** 2", -9.0),
        ("m ** -1", 1 / 3),
        ("n if n > m else m", 8.0),
        ("floor(n / m)", 2.0),
        ("log2(n)", 3.0),
        ("  n\n *   m ", 24.0),
    ],
)
def test_expressions_have_their_usual_values(text: str, value: float) -> None:
    expression = Expression(text, INPUTS)
    assert in_python(expression, 8, 3) == value
    assert expression.of({"n": [8.0], "m": 3.0}).tolist() == [value]


def test_an_expression_lists_its_names_and_calls() -> None:
    expression = Expression("n * log2(n) if n > 1 else abs(n)", ["n", "m"])
    assert expression.names == {"n"}
    assert expression.calls == {"log2", "abs"}
    assert repr(expression) == "<expression n * log2(n) if n > 1 else abs(n)>"


def test_arrays_broadcast_and_a_constant_takes_their_shape() -> None:
    n, m = np.arange(1.0, 4.0)[:, None], np.arange(1.0, 3.0)
    assert Expression("n * m", INPUTS).of({"n": n, "m": m}).tolist() == (n * m).tolist()
    assert Expression("1", INPUTS).of({"n": n, "m": m}).tolist() == np.ones((3, 2)).tolist()
    assert Expression("n", INPUTS).of({"n": 2, "m": 3}).shape == ()


def test_undefined_values_in_arrays_are_nan() -> None:
    found = Expression("log2(n) + 1 / n", ["n"]).of({"n": [0.0, -1.0, 1.0]})
    assert np.isnan(found[:2]).all()
    assert found[2] == 1.0
    assert Expression("log2(n) if n > 0 else 0", ["n"]).of({"n": [0.0, 4.0]}).tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("n +", "is not an expression"),
        ("", "is not an expression"),
        ("n = 3", "is not an expression"),
        ("x * n", "names 'x', which is not an input; the inputs are: n, m"),
        ("log2", "names 'log2', which is not an input"),
        ("n // m", "contains 'n // m'"),  # Python's is not C's floor(n / m): 1 // 0.1 is 9
        ("n % 2", "contains 'n % 2'"),
        ("n @ m", "contains 'n @ m'"),
        ("n & m", "contains 'n & m'"),
        ("~n", "contains '~n'"),
        ("n or m", "contains 'n or m'"),  # Python's would be n, C's 1
        ("not n", "contains 'not n'"),
        ("n is m", "contains 'n is m'"),
        ("n in (1, 2)", "contains 'n in"),
        ("n.real", r"contains 'n\.real'"),
        ("n[0]", r"contains 'n\[0\]'"),
        ("sin(n)", r"contains 'sin\(n\)'"),
        ("__import__('os')", "contains .__import__"),
        ("n.__class__()", "contains 'n.__class__"),
        ("(lambda: 1)()", "contains"),
        ("[k for k in n]", "contains"),
        ("log2(n, 2)", r"contains 'log2\(n, 2\)'"),
        ("min(n)", r"contains 'min\(n\)'"),
        ("max(*n, m)", "contains"),
        ("min(n, m, key=abs)", "contains"),
        ("'n'", "contains"),
        ("True", "contains 'True'"),
        ("1j", "contains '1j'"),
        ("None", "contains 'None'"),
        ("1e999", "contains"),
        ("1" + "0" * 400, "contains"),
        ("(n := 3)", "contains"),
        ("n; m", "is not an expression"),
    ],
)
def test_forbidden_constructs_are_refused(text: str, part: str) -> None:
    with pytest.raises(ModelError, match=part):
        Expression(text, INPUTS)


def test_an_expression_must_be_text() -> None:
    with pytest.raises(ModelError, match="1 is not an expression: write it as text"):
        Expression(1, INPUTS)  # type: ignore[arg-type]


def test_reserved_words_include_all_functions_but_no_usual_input() -> None:
    assert set(FUNCTIONS) | {"inf", "pow", "fmin", "double", "lambda"} <= RESERVED
    assert not RESERVED & {"n", "width", "digit", "rows", "columns"}
