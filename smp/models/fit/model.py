"""Calibrated model: a linear combination of expressions of its inputs that predicts a time.

    sort(n) = 1.2e-06 + 4.5e-10 n*log2(n)          s, for n = 100..1e6
              └ coefficients, with covariance      └ measured range

The model predicts the time for single numbers with a compiled function, and for arrays with NumPy. It also gives an
interval for a new measurement. It can be written as JSON, as a formula, and as a function in Python or C.

Source: Brewer, Portable High-Performance Supercomputing, sections 2.2 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp.errors import ModelError

from .._types import FloatArray
from .expressions import RESERVED, Expression, python_function
from .inputs import Input, parsed
from .records import Dropped, Quality, Samples, listed

FORMAT, VERSION = "smp-model", 1
REDO = "calibrate again"


@dataclass(frozen=True, eq=False)
class Model:
    """A calibrated model.

    Attributes
    ----------
    name : str
    inputs : tuple of Input
        Inputs with the ranges that were measured.
    terms : dict of name to Expression
        The relevant terms.
    coefficients : ndarray (k,) float64
        Seconds per unit of each term.
    covariance : ndarray (k, k) float64
        Covariance of the coefficients.
    residual : float
        Standard deviation of the logarithm of a measurement, divided by its prediction.
    freedom : int
        Degrees of freedom with which `residual` was estimated.
    when : str
        Condition on the inputs. If it does not hold, the model predicts infinity.
    quality : Quality
    machine : dict
        The computer on which the model was calibrated, with versions of the software.
    samples : Samples or None
    least : float
        Least seconds that the model predicts: half of the least that was measured, so that no prediction is below zero.
        It is 0 in models of earlier versions, whose predictions have no such bound.
    dropped : tuple of Dropped
        The points that were left out of the fit because they were slow, the slowest first.
    predict : callable
        ``predict(n, ...)`` takes numbers, by position or name, and returns seconds, or infinity if the condition does
        not hold. It takes about 0.2 us. If a term is not defined, it raises the error that Python raises
        (``log2(0)``: ValueError).

    Examples
    --------
    >>> from smp.models.fit.inputs import parsed
    >>> from smp.models.fit.specification import expressions_of
    >>> quality = Quality(count=12, verified=20, r_squared=1.0, mre_fit=0.01, mre=0.02, worst=0.05)
    >>> model = Model("copy", parsed({"n": "1..1e6"}), expressions_of(["n"], ["n"]), np.array([1e-6, 1e-9]),
    ...               np.diag([1e-16, 1e-22]), residual=0.02, freedom=10, when="n >= 1", quality=quality)
    >>> model.predict(500)
    1.5e-06
    >>> model.predict(0)
    inf
    >>> low, high = model.interval({"n": [1000]})
    >>> print(f"{low[0]:.3g} to {high[0]:.3g}")
    1.91e-06 to 2.1e-06
    >>> model.extrapolates(n=1e7)
    ('n',)
    >>> print(model)
    copy(n) = 1e-06 + 1e-09 n    [s]
        n = 1..1e6; if n >= 1; MRE 2.0% on 20 points not fitted, 1.0% on 12 fitted
    >>> print(model.c())
    double copy(double n) {    /* seconds; MRE 2.0% */
        return (n >= 1.0) ? 1e-06 + 1e-09 * n : INFINITY;
    }
    """

    name: str
    inputs: tuple[Input, ...]
    terms: dict[str, Expression]
    coefficients: FloatArray
    covariance: FloatArray
    residual: float
    freedom: int
    when: str
    quality: Quality
    machine: dict[str, Any] = field(default_factory=dict)
    samples: Samples | None = None
    least: float = 0.0
    dropped: tuple[Dropped, ...] = ()
    predict: Callable[..., float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "predict", python_function("predict", self.names, self.body))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(given.name for given in self.inputs)

    @property
    def body(self) -> str:
        """The prediction as a Python expression of the inputs."""
        summed = f"max({self.least!r}, {self.summed})" if self.least else self.summed
        return f"{summed} if {Expression(self.when, self.names).python} else inf" if self.when else summed

    @property
    def summed(self) -> str:
        """The sum of the terms as a Python expression of the inputs, without the condition and the least seconds."""
        return _sum([(c, term.python) for c, term in zip(self.coefficients.tolist(), self.terms.values(), strict=True)])

    def _check(self, inputs: Mapping[str, Any]) -> None:
        if wrong := set(self.names) ^ set(inputs):
            raise ModelError(
                f"the inputs of {self.name} are {', '.join(self.names)}; wrong or missing: {', '.join(sorted(wrong))}"
            )

    def _columns(self, inputs: Mapping[str, ArrayLike]) -> FloatArray:
        self._check(inputs)
        return np.stack([term.of(inputs) for term in self.terms.values()], axis=-1)

    def of(self, inputs: Mapping[str, ArrayLike]) -> FloatArray:
        """Predict the seconds for arrays of inputs.

        Parameters
        ----------
        inputs : mapping of name to array_like
            All the inputs, of shapes that broadcast with each other.

        Returns
        -------
        ndarray of float64, seconds
            An array of the inputs' common shape; infinite where the condition does not hold.
        """
        made = self._bounded(self._columns(inputs) @ self.coefficients)
        return np.where(self.applies(inputs), made, np.inf)

    def _bounded(self, seconds: FloatArray) -> FloatArray:
        return np.maximum(seconds, self.least) if self.least else seconds

    def applies(self, inputs: Mapping[str, ArrayLike]) -> NDArray[np.bool_]:
        """Return True where the condition holds."""
        self._check(inputs)
        return np.asarray(Expression(self.when or "1", self.names).of(inputs) != 0)

    def interval(self, inputs: Mapping[str, ArrayLike], confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the bounds between which a new measurement falls with the given probability.

        A measurement is the least of a few timings, of which at least one lies outside slow spells of the computer.

        Parameters
        ----------
        inputs : mapping of name to array_like
            All the inputs, of shapes that broadcast with each other.
        confidence : float
            Probability, between 0 and 1.

        Returns
        -------
        low, high : ndarray of float64, seconds
            Infinite where the condition does not hold.

        Notes
        -----
        The bounds are the prediction divided and multiplied by the same factor, so they are never below zero.
        """
        from scipy.special import stdtrit  # SciPy takes a while to import, and predictions do not need it

        columns = self._columns(inputs)
        predicted = self._bounded(columns @ self.coefficients)
        of_terms = np.einsum("...i,ij,...j->...", columns, self.covariance, columns)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            spread = np.sqrt(self.residual**2 + of_terms / predicted**2)
            factor = np.exp(float(stdtrit(self.freedom, (1 + confidence) / 2)) * spread)
            low, high = (
                np.where(self.applies(inputs), end, np.inf) for end in (predicted / factor, predicted * factor)
            )
        return low, high

    def extrapolates(self, **inputs: float) -> tuple[str, ...]:
        """Return the names of the inputs that lie outside their measured ranges."""
        self._check(inputs)
        return tuple(g.name for g in self.inputs if not g.low <= inputs[g.name] <= g.high)

    def left_out(self) -> NDArray[np.bool_]:
        """Return True for each sample that was left out of the fit because it was slow; none without samples."""
        if self.samples is None:
            return np.zeros(0, dtype=bool)
        found = np.zeros(len(self.samples.seconds), dtype=bool)
        for each in self.dropped:
            here = self.samples.seconds == each.seconds
            for name, value in each.inputs.items():
                here &= self.samples.inputs[name] == value
            found |= here & ~self.samples.verification
        return found

    def plot(self) -> Any:
        """Draw the measured points against their predictions.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; ``savefig`` writes it to a file.

        Raises
        ------
        ModelError
            If the model was stored without its samples.
        """
        figure = self._figure()
        if figure is None:
            raise ModelError(f"the model {self.name} was stored without its samples, so there is no point to draw")
        from smp._output.drawing import draw  # imported late, like Matplotlib

        return draw(figure)

    def _figure(self) -> Any:
        """Describe the figure of the measured points; None if the model was stored without them."""
        if self.samples is None:
            return None
        from .points_figure import model_figure

        found = self.samples
        predicted, apart = self.of(found.inputs), found.verification
        return model_figure(self.name, self.formula(), predicted, found.seconds, apart, self.left_out())

    def _repr_html_(self) -> str:
        from smp._output.notebook import displayed
        from smp._output.table import Part, Table

        return displayed([Part("", [Table(notes=str(self).splitlines())])], self._figure())

    def formula(self) -> str:
        """Return the sum of the terms in readable form, in seconds."""
        pairs = zip(self.coefficients.tolist(), self.terms.values(), strict=True)
        parts = [f"{'-' if c < 0 else '+'} {abs(c):.4g} {'' if t.text == '1' else t.shown}".strip() for c, t in pairs]
        return " ".join(parts).removeprefix("+ ")

    def __str__(self) -> str:
        ranges = ", ".join(f"{given.name} = {given.text}" for given in self.inputs)
        condition, q = f"; if {self.when}" if self.when else "", self.quality
        return (
            f"{self.name}({', '.join(self.names)}) = {self.formula()}    [s]\n"
            f"    {ranges}{condition}; MRE {q.mre:.1%} on {q.verified} points not fitted, "
            f"{q.mre_fit:.1%} on {q.count} fitted" + "".join(f"\n    {said}" for said in [listed(self.dropped)] if said)
        )

    def __reduce__(self) -> Any:
        return Model._read, (self.to_json(),)

    def __repr__(self) -> str:
        return f"<model {self.name}({', '.join(self.names)}): MRE {self.quality.mre:.1%}>"

    def python(self) -> str:
        """Return the source of a Python function that predicts seconds."""
        needed = sorted(
            {name for term in self.terms.values() for name in term.calls}
            | Expression(self.when or "1", self.names).calls
        )
        head = "".join(f"from math import {name}\n" for name in needed if name not in ("abs", "min", "max"))
        head += "from math import inf\n" if self.when else ""
        return (
            f"{head}{chr(10) * 2 if head else ''}def {_identifier(self.name)}({', '.join(self.names)}):"
            f"    # seconds; MRE {self.quality.mre:.1%}\n    return {self.body}\n"
        )

    def c(self) -> str:
        """Return the source of a C function of doubles that predicts seconds; the source needs ``math.h``."""
        summed = _sum([(c, term.c) for c, term in zip(self.coefficients.tolist(), self.terms.values(), strict=True)])
        if self.least:
            summed = f"fmax({self.least!r}, {summed})"
        if self.when:
            summed = f"{Expression(self.when, self.names).c} ? {summed} : INFINITY"
        return (
            f"double {_identifier(self.name)}({', '.join(f'double {name}' for name in self.names)}) {{"
            f"    /* seconds; MRE {self.quality.mre:.1%} */\n    return {summed};\n}}"
        )

    def to_json(self, samples: bool = True) -> dict[str, Any]:
        """Return the model as plain JSON, with or without its samples."""
        made: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "inputs": {given.name: given.text for given in self.inputs},
            "terms": {name: term.text for name, term in self.terms.items()},
            "coefficients": self.coefficients.tolist(),
            "covariance": self.covariance.tolist(),
            "residual": self.residual,
            "freedom": self.freedom,
            "when": self.when,
            "quality": asdict(self.quality),
            "machine": self.machine,
            "least": self.least,
            "dropped": [asdict(each) for each in self.dropped],
        }
        if samples and self.samples is not None:
            made["samples"] = {
                "inputs": {name: values.tolist() for name, values in self.samples.inputs.items()},
                "seconds": self.samples.seconds.tolist(),
                "raw": self.samples.raw,
                "verification": self.samples.verification.tolist(),
            }
        return made

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Return the model from the JSON that `to_json` returned.

        Raises
        ------
        ModelError
            Data that are not a model, or a model of a later version, or a damaged one.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ModelError(f"this is not a model of smp: its format is not {FORMAT!r}")
        if not isinstance(data.get("version"), int) or data["version"] > VERSION:
            raise ModelError(
                f"the model is of version {data.get('version')!r}, but this smp reads up to {VERSION}: upgrade smp"
            )
        from smp._computer.documents import check  # Pydantic takes a while to import, and a new model does not need it

        from .layout import ModelLayout

        check(data, ModelLayout, ModelError, "the model", REDO)
        try:
            return cls._read(data)
        except ModelError as error:
            raise ModelError(f"the model {data['name']!r} is damaged: {error}; {REDO}") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Model:
        """Return a model from JSON whose layout is right; its ranges and expressions may still be wrong."""
        inputs, taken = parsed(data["inputs"]), data.get("samples")
        names = [given.name for given in inputs]
        return cls(
            data["name"],
            inputs,
            {name: Expression(text, names) for name, text in data["terms"].items()},
            np.array(data["coefficients"], np.float64),
            np.array(data["covariance"], np.float64),
            float(data["residual"]),
            data["freedom"],
            data["when"],
            Quality(
                **{each.name: data["quality"][each.name] for each in fields(Quality) if each.name in data["quality"]}
            ),
            dict(data["machine"]),
            None
            if taken is None
            else Samples(
                {name: np.array(values, np.float64) for name, values in taken["inputs"].items()},
                np.array(taken["seconds"], np.float64),
                taken["raw"],
                np.array(taken["verification"], bool),
            ),
            float(data.get("least", 0.0)),
            tuple(Dropped(**each) for each in data.get("dropped", ())),
        )


def _sum(pairs: Sequence[tuple[float, str]]) -> str:
    return " + ".join(repr(c) if text in ("1", "1.0") else f"{c!r} * {text}" for c, text in pairs)


def _identifier(name: str) -> str:
    """Return a function name that is valid in Python and in C."""
    made = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return f"{made}_" if made in RESERVED else f"_{made}" if made[:1].isdigit() else made or "_"
