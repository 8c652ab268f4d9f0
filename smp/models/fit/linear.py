"""Linear models: a linear combination of named terms, fitted on the relative error.

    rows / y  ->  columns / norm  ->  least squares  ->  coefficients, intervals, and unidentified terms
    (relative)    (equilibrated)

Times span orders of magnitude, so an error of 1 us matters at 5 us and not at 5 ms: each row is divided by its
measured value. Terms have units as different as those of a constant and a count of words, so each column is divided by
its norm. Terms that the data cannot separate are named in `Fit.unidentified`; their price is not silently divided
between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit  # the t quantile; scipy.stats would take half a second to import

from smp.errors import FitError

from .._types import BoolArray, FloatArray
from .least_squares import checked_system, free_terms, identify, r_squared, solve, touches

CONFIDENCE = 0.95

_REWEIGHTINGS, _LOGARITHMIC = 2, 6  # refits; those on the logarithmic scale are Gauss-Newton steps
_FAR = 2.0  # largest factor by which a prediction may change a weight: a prediction can be far off, or below zero


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted linear model.

    Attributes
    ----------
    terms : tuple of str
        Names of the k terms.
    coefficients : ndarray (k,) float64
        Coefficients in units of y per unit of the term. If terms are unidentified, this is the smallest of the
        equivalent solutions (in the equilibrated columns): such coefficients predict together, but one of them alone
        means nothing.
    errors : ndarray (k,) float64
        Standard errors; 0 for held terms, infinite if the data leave a coefficient open.
    low, high : ndarray (k,) float64
        95% interval of each coefficient (Student t; variance from the residuals on the scale of the fit). It is cut at
        zero for terms that must not be negative. Held terms have ``low = high = 0``.
    held : tuple of str
        Terms that the constraint set to zero: without it they would be negative. They have no interval.
    unidentified : tuple of str
        Terms that these data cannot separate.
    linked : ndarray (k, k) bool
        Pairs of unidentified terms that cannot be separated from each other, alone or together with further terms;
        each such term is paired with itself.
    condition : float
        Largest over smallest singular value of the equilibrated columns; infinite if the smallest is rounding.
    count : int
        Number of rows n.
    freedom : int
        Degrees of freedom of the residuals: n less the rank of the columns that are not held.
    relative : bool
        True if the fit is on the relative error.
    residual : float
        Residual standard deviation on the scale of the fit (0.03 is 3% if the fit is relative).
    r_squared : float
        R² on the scale of the fit: the share of the squares about the best constant, or about zero if no term is
        constant, that the fit explains.
    average, maximum : float
        Average and largest absolute relative error.
    mre : float
        Mean relative error: geometric mean of 1 + absolute relative error, less 1.
    spread : ndarray (k, rank) float64
        ``residual**2 * spread @ spread.T`` is the covariance; rows of held terms are 0.
    null : ndarray (k, j) float64
        Directions in which the data leave the coefficients open.
    logarithmic : bool
        True if the fit is on the logarithmic scale, where a residual is the logarithm of measured / predicted.
    """

    terms: tuple[str, ...]
    coefficients: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray
    held: tuple[str, ...]
    unidentified: tuple[str, ...]
    linked: BoolArray
    condition: float
    count: int
    freedom: int
    relative: bool
    residual: float
    r_squared: float
    average: float
    maximum: float
    mre: float
    spread: FloatArray
    null: FloatArray
    logarithmic: bool = False

    @property
    def covariance(self) -> FloatArray:
        """Covariance (k, k) of the coefficients; 0 for held terms, `errors` squared on the diagonal.

        In the row and the column of an infinite diagonal entry, the other entries are those of the smallest solution.
        """
        with np.errstate(invalid="ignore"):  # 0 * inf if there are no degrees of freedom
            found = self.residual**2 * (self.spread @ self.spread.T)
        np.fill_diagonal(found, self.errors**2)
        return np.asarray(found)

    def predict(self, columns: ArrayLike) -> FloatArray:
        """Evaluate the model for n rows.

        Parameters
        ----------
        columns : array_like (n, k)
            One column per term, in the order of `terms`.

        Returns
        -------
        ndarray (n,) float64

        Raises
        ------
        FitError
            The number of columns is not the number of terms.
        """
        return np.asarray(self._checked(columns) @ self.coefficients)

    def interval(self, columns: ArrayLike, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """Return the interval in which one new measurement of each row will lie.

        Parameters
        ----------
        columns : array_like (n, k)
        confidence : float
            Probability, between 0 and 1.

        Returns
        -------
        low, high : ndarray (n,) float64
            Infinite for a row that needs coefficients that the data leave open, and for all rows if there were as many
            measurements as terms.

        Raises
        ------
        FitError
            The number of columns is not the number of terms, or the confidence is not a probability.

        Notes
        -----
        Half the width of the interval is ``t * sqrt(noise**2 + x' covariance x)``. The noise of a new measurement is
        `residual`, or `residual` times the prediction if the fit is relative. Nominal 95% intervals cover 94 to 96% if
        the noise is normal. With relative noise above about 10%, that needs a reweighted fit, see `fit`. If the fit is
        logarithmic, the half width is a share of the prediction on the logarithmic scale, so no end is below zero.

        Examples
        --------
        >>> model = fit([[1.0], [1.0], [1.0]], [9.0, 10.0, 11.0], ["c"], relative=False)
        >>> [float(end[0].round(2)) for end in model.interval([[1.0]])]  # 10 -+ t sqrt(1 + 1/3)
        [5.03, 14.97]
        """
        if not 0.0 < confidence < 1.0:
            raise FitError(f"confidence must be a probability between 0 and 1, such as 0.95, not {confidence:g}")
        matrix = self._checked(columns)
        centre = matrix @ self.coefficients
        if not self.freedom:
            return np.full_like(centre, -np.inf), np.full_like(centre, np.inf)
        noise = np.abs(centre) if self.relative else np.ones_like(centre)
        of_one = self.residual * np.hypot(noise, np.linalg.norm(matrix @ self.spread, axis=1))
        reach = np.where(touches(matrix, self.null), np.inf, _quantile(self.freedom, confidence) * of_one)
        if self.logarithmic:
            with np.errstate(over="ignore"):
                factor = np.exp(reach / np.abs(centre))
            return centre / factor, centre * factor
        return centre - reach, centre + reach

    def _checked(self, columns: ArrayLike) -> FloatArray:
        matrix = np.asarray(columns, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.terms):
            raise FitError(
                f"columns of shape {matrix.shape} do not fit a model of {len(self.terms)} terms {self.terms}: "
                "give an array of shape (n, k), one column for each term"
            )
        return matrix


def fit(
    columns: ArrayLike,
    y: ArrayLike,
    terms: Sequence[str],
    nonnegative: Sequence[bool] | None = None,
    *,
    relative: bool = True,
    reweighted: bool = False,
    logarithmic: bool = False,
) -> Fit:
    """Fit ``y = columns @ coefficients`` by least squares on the relative error.

    Parameters
    ----------
    columns : array_like (n, k)
        One column per term; n >= k. A constant term is a column of ones.
    y : array_like (n,)
        Measured values; above zero if `relative`.
    terms : sequence of k str
        Names of the terms.
    nonnegative : sequence of k bool, optional
        True for terms whose coefficient must not fall below zero. Default: none.
    relative : bool
        Minimise the squares of the relative errors (default) or of the absolute ones.
    reweighted : bool
        Divide the rows by the predictions of a first fit instead of by the measured values: for data that scatter by
        more than about 3%. Needs `relative`.
    logarithmic : bool
        Minimise the squares of log(measured / predicted), where twice the time is as far off as half the time. Needs
        `relative`.

    Returns
    -------
    Fit

    Raises
    ------
    FitError
        Shapes that do not agree, fewer rows than terms, values that are not finite, or y <= 0 in a relative fit. Also
        if an absolute fit is to be reweighted or logarithmic.

    Notes
    -----
    O(n k^2), about 0.15 ms for 100 rows of 5 terms.

    Dividing by a measured value that is off by a random share s pulls all coefficients down by about 2 s^2: 0.02% at
    s = 1%, 2% at s = 10%. For medians, which scatter less than single timings, that is little. The result has the least
    error relative to the measurements, by which models are judged, so this is the default. But the bias does not shrink
    with more rows as the intervals do: with 60 rows, the 95% interval of a coefficient covers it in 84% of cases at
    s = 10%, and in 49% at s = 20%. A reweighted fit keeps 95%. The rows are reweighted twice, the second time for the
    sake of the residual. No weight changes by more than a factor of two.

    A logarithmic fit repeats the same steps: rows are divided by the last predictions, and the measured values are
    replaced by their logarithms' linear part there.

    The intervals hold for the terms that are kept: if a constraint chooses the terms, it narrows the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.array([1e3, 1e4, 1e5, 1e6])
    >>> seconds = 2e-6 + 1e-9 * words
    >>> model = fit(np.column_stack([np.ones(4), words]), seconds, ["L", "g"])
    >>> [f"{c:.2e}" for c in model.coefficients]
    ['2.00e-06', '1.00e-09']
    """
    matrix, measured = checked_system(columns, y, terms, relative)
    bounded = np.zeros(len(terms), dtype=bool) if nonnegative is None else np.asarray(nonnegative, dtype=bool)
    if bounded.shape != (len(terms),):
        raise FitError(f"nonnegative has {bounded.size} flags for {len(terms)} terms: give one for each")
    if (reweighted or logarithmic) and not relative:
        wanted = "reweighted" if reweighted else "logarithmic"
        raise FitError(f"a fit with relative=False has no weights, so it cannot be {wanted}: leave out one of the two")

    model = _fitted(matrix, measured, terms, bounded, 1.0 / measured if relative else np.ones_like(measured), relative)
    for _ in range(_LOGARITHMIC if logarithmic else _REWEIGHTINGS if reweighted else 0):
        near = np.clip(model.predict(matrix), measured / _FAR, measured * _FAR)
        target = 1.0 + np.log(measured / near) if logarithmic else None
        model = _fitted(matrix, measured, terms, bounded, 1.0 / near, relative, target)
    return model


def _fitted(
    matrix: FloatArray,
    measured: FloatArray,
    terms: Sequence[str],
    bounded: BoolArray,
    weights: FloatArray,
    relative: bool,
    logarithms: FloatArray | None = None,
) -> Fit:
    """Fit weighted rows to the weighted measured values, or to their logarithms, linear about the weights."""
    rows, target = matrix * weights[:, None], measured * weights if logarithms is None else logarithms
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0.0] = 1.0  # a column of zeros stays zero, and its term is found to be unidentified
    scaled = rows / norms

    condition, unidentified, linked = identify(scaled)
    free = free_terms(scaled, target, bounded)
    found = solve(scaled[:, free], target)

    def in_place(part: FloatArray) -> FloatArray:
        """Insert zeros in the rows of held terms, and undo the equilibration."""
        whole = np.zeros((len(terms), *part.shape[1:]))
        whole[free] = part
        return np.asarray((whole.T / norms).T)

    coefficients, spread, null = in_place(found.values), in_place(found.spread), in_place(found.null)
    left_over = target - rows @ coefficients
    squares = float(left_over @ left_over)
    freedom = len(target) - spread.shape[1]
    residual = float(np.sqrt(squares / freedom)) if freedom else np.inf
    errors = np.where((null != 0.0).any(axis=1), np.inf, residual * np.linalg.norm(spread, axis=1))
    reach = errors * (_quantile(freedom, CONFIDENCE) if freedom else 1.0)
    low = coefficients - reach
    low[bounded] = np.maximum(low[bounded], 0.0)
    with np.errstate(divide="ignore"):  # an absolute fit may pass through y = 0
        off = np.abs(matrix @ coefficients - measured) / np.abs(measured)
    return Fit(
        terms=tuple(terms),
        coefficients=coefficients,
        errors=errors,
        low=low,
        high=coefficients + reach,
        held=_names(terms, ~free),
        unidentified=_names(terms, unidentified),
        linked=linked,
        condition=condition,
        count=len(target),
        freedom=freedom,
        relative=relative,
        residual=residual,
        r_squared=r_squared(matrix, measured, weights, squares),
        average=float(off.mean()),
        maximum=float(off.max()),
        mre=mean_relative_error(off),
        spread=spread,
        null=null,
        logarithmic=logarithms is not None,
    )


def _quantile(freedom: int, confidence: float) -> float:
    """Return half the width of an interval, in standard errors (Student t)."""
    return float(stdtrit(freedom, (1.0 + confidence) / 2.0))


def _names(terms: Sequence[str], chosen: BoolArray) -> tuple[str, ...]:
    return tuple(name for name, yes in zip(terms, chosen, strict=True) if yes)


def mean_relative_error(off: ArrayLike) -> float:
    """Return the mean of absolute relative errors: the geometric mean of 1 + error, less 1."""
    return float(np.expm1(np.log1p(off).mean()))
