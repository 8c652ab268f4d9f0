"""Choices among the sorts, by models that are calibrated on the emulated machine.

The thesis counts an error as the distance between the predicted and the true crossing of two algorithms, over the
largest number of keys; between them the wrong algorithm is chosen.  Here errors are also counted as a share of runs, of
which many lie around the crossings.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 4.5.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

import smp
from smp.machines import MachineFile

from ..models.sort_tables import mean_largest
from ..models.sorts import Sorts, largest_part
from .outcomes import Outcome

ALGORITHMS = ("sample", "4", "10", "14")
WIDTHS = (8, 16, 24, 32)
MOST, AROUND, ELSEWHERE = 10_000, 60, 100
BESIDE = 0.1
"""Places around a crossing lie within this part of it."""
OF_KEYS = ["keys", "sqrt(keys)"]
NARROW = 8
"""Width at which many keys are equal, so that the parts of sample sort are less even; it has a model of its own."""
Keys = NDArray[np.int64]


class Choosing:
    """The sorts on one machine, their models and their times.

    Parameters
    ----------
    machine : MachineFile
    processors : int
    rng : numpy.random.Generator
        Draws the keys of sample sort, whose time depends on its largest part.
    """

    def __init__(self, machine: MachineFile, processors: int, rng: np.random.Generator) -> None:
        self.processors, self._rng = processors, rng
        self.times = Sorts(machine, processors)
        self.radix = smp.calibrate(
            smp.Specification(
                "radix",
                {"keys": "10..10000", "bins": "16, 1024, 16384", "rounds": "linear 1..8"},
                ["rounds", "bins * rounds", "keys * rounds"],
                self.times.radix,
                setup=lambda keys, digit, width: (keys, width, digit),
                loops={"keys": "10..10000 x 5", "digit": "4, 10, 14", "width": "8, 16, 24, 32"},
                of=lambda keys, width, digit: (keys, 1 << digit, -(-width // digit)),
                clocked=True,
            )
        )
        narrow, wide = self._sample(NARROW, 12), self._sample(max(WIDTHS), 48)
        self.sample = {width: narrow if width == NARROW else wide for width in WIDTHS}

    def _sample(self, width: int, points: int) -> smp.Model:
        return smp.calibrate(
            smp.Specification(
                "sample",
                {"keys": f"1..{MOST} x {points}"},
                OF_KEYS,
                functools.partial(self._sampled, width),
                clocked=True,
            )
        )

    def _sampled(self, width: int, keys: int) -> float:
        return self.times.sample(keys, largest_part(keys, self.processors, width, self._rng))

    def seconds(self, algorithm: str, keys: int, width: int) -> float:
        """Return the virtual time of a sort of random keys."""
        return self._sampled(width, keys) if algorithm == "sample" else self.times.radix(keys, width, int(algorithm))

    def predicted(self, keys: Keys, width: int) -> NDArray[np.float64]:
        """Return the predicted time of each algorithm for some numbers of keys."""
        found = []
        for algorithm in ALGORITHMS:
            if algorithm == "sample":
                found.append(self.sample[width].of({"keys": keys}))
            else:
                digit = int(algorithm)
                found.append(self.radix.of({"keys": keys, "bins": 1 << digit, "rounds": -(-width // digit)}))
        return np.stack(found)

    def crossings(self, width: int) -> list[int]:
        """Return the numbers of keys from which on another algorithm is predicted to be the fastest."""
        best = np.argmin(self.predicted(np.arange(1, MOST + 1), width), axis=0)
        return (np.flatnonzero(np.diff(best)) + 2).tolist()

    def places(self, width: int) -> Keys:
        """Return numbers of keys around each predicted crossing, and log-uniform ones elsewhere.

        No number is one of those that the models were calibrated with.
        """
        around = [np.geomspace(at * (1 - BESIDE), min(MOST, at * (1 + BESIDE)), AROUND) for at in self.crossings(width)]
        elsewhere = np.exp(self._rng.uniform(0, np.log(MOST), ELSEWHERE))
        places = np.concatenate([*around, elsewhere]).round().astype(np.int64)
        return places[~np.isin(places, np.concatenate([_keys_of(model) for model in (self.radix, self.sample[width])]))]

    def outcome(self, width: int) -> Outcome:
        """Let all algorithms sort, and compare the fastest ones with the models' choices."""
        keys = self.places(width)
        true = [[self.seconds(algorithm, int(n), width) for n in keys] for algorithm in ALGORITHMS]
        return Outcome(
            ALGORITHMS,
            {"keys": keys, "width": np.full(len(keys), width)},
            self.predicted(keys, width),
            np.array(true),
        )

    def missed(self, width: int) -> float:
        """Return the part of the numbers of keys up to the largest for which the choice is wrong.

        The time of sample sort is the mean of 25 samples at each of 40 numbers of keys, and interpolated between them.
        """
        keys = np.arange(1, MOST + 1)
        some = np.unique(np.geomspace(1, MOST, 40).astype(np.int64)).tolist()
        parts = [round(mean_largest(n, width, self.processors)) for n in some]
        sampled = np.interp(keys, some, [self.times.sample(n, part) for n, part in zip(some, parts, strict=True)])
        known = [self._radix_at(keys, width, int(algorithm)) for algorithm in ALGORITHMS[1:]]
        true = np.stack([sampled, *known])
        return float(np.mean(np.argmin(true, axis=0) != np.argmin(self.predicted(keys, width), axis=0)))

    def _radix_at(self, keys: Keys, width: int, digit: int) -> NDArray[np.float64]:
        """Return the time of radix sort, which is a straight line, for all numbers of keys."""
        ends = 1, MOST
        return np.interp(keys, ends, [self.times.radix(n, width, digit) for n in ends])


def _keys_of(model: smp.Model) -> Keys:
    assert model.samples is not None
    return np.unique(model.samples.inputs["keys"].astype(np.int64))
