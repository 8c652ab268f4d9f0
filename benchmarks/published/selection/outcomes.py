"""What choices by models cost: how many are right, and how much time the others lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Row


@dataclass(frozen=True)
class Outcome:
    """Choices among implementations, each of which has run in virtual time.

    Attributes
    ----------
    names : tuple of n str
        Implementations.
    inputs : dict of name to ndarray (cases,)
    predicted, true : ndarray (n, cases), seconds
        Infinite for an implementation that must not be chosen.
    """

    names: tuple[str, ...]
    inputs: dict[str, NDArray[Any]]
    predicted: NDArray[np.float64]
    true: NDArray[np.float64]

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The implementation that the models choose, for each case."""
        return np.argmin(self.predicted, axis=0)

    @property
    def best(self) -> NDArray[np.int64]:
        """The implementation that takes the least time, for each case."""
        return np.argmin(self.true, axis=0)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Time of the chosen implementation over that of the best one, less 1."""
        cases = np.arange(self.true.shape[1])
        return np.asarray(self.true[self.chosen, cases] / self.true[self.best, cases] - 1)

    @property
    def error(self) -> float:
        """Mean relative error of the models, over all cases in which the implementation may be chosen."""
        usable = np.isfinite(self.true) & np.isfinite(self.predicted)
        return float(np.mean(np.abs(self.predicted[usable] / self.true[usable] - 1)))

    @property
    def margins(self) -> NDArray[np.float64]:
        """Time of the second best implementation over that of the best one, less 1."""
        two = np.sort(self.true, axis=0)[:2]
        return np.asarray(two[1] / two[0] - 1)

    def worst(self, count: int = 10) -> list[dict[str, Any]]:
        """Return the cases that lose most, as plain values."""
        found = []
        for case in np.argsort(-self.losses)[:count]:
            if self.losses[case] <= 0:
                break
            at = {name: np.asarray(values)[case].item() for name, values in self.inputs.items()}
            chosen, best = self.names[self.chosen[case]], self.names[self.best[case]]
            misses = {
                self.names[k]: float(self.predicted[k, case] / self.true[k, case] - 1)
                for k in (self.chosen[case], self.best[case])
            }
            loss = float(self.losses[case])
            found.append({**at, "chosen": chosen, "best": best, "loss": loss, "errors of the models": misses})
        return found


def joined(outcomes: list[Outcome]) -> Outcome:
    """Return several outcomes of the same implementations as one, without their inputs."""
    first = outcomes[0]
    sides = [np.concatenate([getattr(one, side) for one in outcomes], axis=1) for side in ("predicted", "true")]
    return Outcome(first.names, {}, *sides)


def share_right(result: str, what: str, outcome: Outcome, printed: str, demand: float | None) -> Row:
    """Return the row with the share of right choices; without a demand it is only shown."""
    share = 100 * float(np.mean(outcome.losses == 0))
    kind = "shown" if demand is None else "pred"
    return Row(result, f"{what}: right of {len(outcome.losses):,}", printed, share, "%", kind, demand, 100.0)


def penalties(result: str, what: str, outcome: Outcome) -> list[Row]:
    """Return the rows on what wrong choices lose, and where they lie; none if no choice is wrong."""
    losses = outcome.losses
    wrong = losses > 0
    if not wrong.any():
        return []
    lost, expected, most = 100 * losses[wrong].mean(), 100 * losses.mean(), 100 * losses.max()
    near = 100 * np.mean(outcome.margins[wrong] < 2 * outcome.error)
    return [
        Row(
            result, f"{what}: mean loss of the {wrong.sum()} wrong", "1.10 to 3.09", float(lost), "%", "pred", high=3.0
        ),
        Row(result, f"{what}: expected loss", "0.003 to 0.017", float(expected), "%", "pred", high=0.03),
        Row(result, f"{what}: worst loss", "5.45 to 16.25", float(most), "%", "pred", high=16.0),
        Row(result, f"{what}: wrong ones within 2 MRE", "all", float(near), "%", "pred", low=95.0),
    ]
