"""Libraries from which sort and argsort choose among the forms that run in this process, see `smp.selection.library`.

    keys  --look-->  n, bits, rare, order, below, width  --models-->  numpy, counting, vectors
                                                                      where they do not split: halves, partition
    keys  --glance-->  bits  --remembered predictions-->  the same    if they do not run one way, and are not counted

There is one library for each size and kind of keys and each number of streams.  Unsigned integers share the library of
signed ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from smp.selection.implementation import Guard, Implementation
from smp.selection.kept import recalled
from smp.selection.library import Library, typical

from ..in_process import streams_for
from .by_vectors import vectors
from .by_vectors.in_place import CHUNK_BYTES
from .counting import WIDEST, range_around
from .data import LOOPS, sort_data
from .fast import (
    BYTES_A_COUNTER,
    FEW_BITS,
    FEWER_ALONE,
    KEYS_TO_COUNT,
    LEAST_BITS,
    MOST_KEYS,
    WORTH_ALONE,
    WORTH_PARTS,
    WORTH_VECTORS,
    may_split,
    sort_fast,
    streams_by_rule,
    worth_counting,
    worth_moving,
)
from .keys import Keys
from .orders.fast import MANY_BITS, WORTH_PARTING, argsort_fast, worth_packing, worth_two
from .parts import Numbers
from .sampling import ALL_DIFFER, Figures, Look, Variety, figures, look, sample_of

KINDS = ("int32", "int64", "float32", "float64")
INPUTS = {
    "n": "100..1e7",
    "bits": "linear 0..21 real",
    "rare": "linear 0..1 real",
    "order": "linear 0..1 real",
    "below": "linear 0..0.5 real",
}
"""Inputs of the models; for integers also the width of a range around them.  See `smp.kernels.sorting.sampling`."""
WIDTH, UNEVEN = {"width": "17..2e19"}, {"uneven": "linear 0..1 real"}
LOW, HIGH = "max(0, n - 1048576)", "max(0, n - 4194304)"
"""Terms for the levels of memory."""
PASSES = ["n * rare", "n * log2(n) * rare", "n * (1 - rare)", "n * bits * (1 - rare)", "n * order", LOW, HIGH]
"""Terms of NumPy's sort, which with many equal keys is done as soon as it has separated the different ones."""
SPLITS = [*PASSES, "n * log2(n) * (1 - rare)", "max(0, n - 262144)", "min(n, 1000)"]
"""Terms of sorts that split short arrays, too."""
RANKS = [*PASSES, "n * log2(n) * min(1, 10 * uneven)", "n * log2(n) * order", "min(n, 1000)"]
"""Terms of NumPy's argsort, which is slow on keys of which some are far more frequent than others."""
PARTS = ["n", "n * log2(n)", "n * rare", "n * bits * (1 - rare)", "n * order", LOW, HIGH]
PACKED = ["n", "n * log2(n)", "n * bits", "n * order", "n * uneven", "max(0, n - 262144)", LOW, "min(n, 1000)"]
"""Terms of packing: words are sorted like keys that all differ, but equal keys of 64 bits may be read once more."""
RUNS = "min(width, n, 2 ** bits)"
COUNTS = [
    "n",
    "width",
    RUNS,
    f"{RUNS} * log2(n / {RUNS} + 1)",
    "n * max(0, 4 - bits)",
    "n * order * max(0, min(1, (log2(n) - bits - 5) / 4))",
    "n * max(0, bits - 15)",
]
"""Terms of counting: keys, counters, and runs of equal keys, long and short.  The next two are for one key that is
counted again and again, where each count waits for the one before.  The last is for counters beyond the nearest
cache."""
UNORDERED = "order < 0.6"
"""Condition of keys to sort at which a glance is enough, but for integers that may be counted."""
MANY = f"{UNORDERED} and bits > {MANY_BITS}"
"""Condition of keys to order at which a glance is enough."""
WORTH_A_LOOK, WORTH_A_LOOK_FOR_ORDER = 1 << 21, 1 << 20
"""Bytes of keys from which a look at them costs little, compared with sort and with argsort, if this machine is not
calibrated."""
MAPPED = 1 << 25
"""Bytes from which the C library requests each array from the system, which fills it with zeros."""


class Request:
    """Keys to be sorted, together with a look at some of them, which is taken once.

    Parameters
    ----------
    keys : ndarray of shape (n,), n >= 1
    out : ndarray of shape (n,), optional
        Receives the result; by default a new array.
    """

    __slots__ = ("_seen", "keys", "out")

    def __init__(self, keys: Keys, out: Keys | None = None) -> None:
        self.keys, self.out = keys, out
        self._seen: Look | None = None

    @property
    def seen(self) -> Look:
        """Look at some of the keys."""
        if self._seen is None:
            self._seen = look(self.keys)
        return self._seen

    @property
    def figures(self) -> Figures:
        """Statistics of the keys."""
        return figures(self.seen.sample, len(self.keys))

    def inputs(self) -> tuple[float, ...]:
        """Return the inputs of the models of sort, which takes about 8 us."""
        (sample, order), found = self.seen, self.figures
        common = float(len(self.keys)), found.bits, found.rare, order, found.below
        if sample.dtype.kind == "f":
            return common
        around = range_around(sample)
        width = around[1] if around else max(WIDEST, int(sample[-1]) - int(sample[0]))  # too wide for counting
        return (*common, float(width))

    def inputs_of_order(self) -> tuple[float, ...]:
        """Return the inputs of the models of argsort."""
        found = self.figures
        return float(len(self.keys)), found.bits, found.rare, self.seen.order, found.below, found.uneven

    def sort(self, algorithm: str, streams: int) -> Keys:
        """Sort the keys and return the array that holds the result."""
        out = np.empty(len(self.keys), self.keys.dtype.newbyteorder("=")) if self.out is None else self.out
        sort_fast(self.keys, out, streams, algorithm, self._sample)
        return out

    def argsort(self, algorithm: str, streams: int) -> Numbers:
        """Return the order that sorts the keys."""
        return argsort_fast(self.keys, streams, algorithm, self._sample)

    @property
    def _sample(self) -> Keys | None:
        return None if self._seen is None else self._seen.sample


def sort_library(dtype: np.dtype[Any], streams: int) -> Library:
    """Return the library of sort for keys of a type, with the models that are stored for it, if there are any."""
    return _sort_library(_kind(dtype), streams, vectors.beat_numpy(), may_split(streams), vectors.sort_alone(dtype))


def models_are_asked(keys: Keys, inside: bool, streams: int) -> bool:
    """Return True if models choose among the forms.

    They are of sorts into a new array.  In place, halves and parts need a copy, and vectors none.
    """
    if inside and may_split(streams):
        return False
    library = sort_library(keys.dtype, streams)
    return bool(library.models) and len(keys) >= library.worth


def argsort_library(dtype: np.dtype[Any], streams: int) -> Library:
    """Return the library of argsort for keys of a type, with the models that are stored for it, if there are any."""
    return _argsort_library(_kind(dtype), streams)


def models_of_order(keys: Keys, streams: int) -> Library | None:
    """Return the library whose models choose how to order keys, or None if the rule does."""
    library = argsort_library(keys.dtype, streams)
    return library if library.models and library.worth <= len(keys) <= MOST_KEYS else None


def by_models(library: Library, request: Request, seen: Variety | None) -> Any:
    """Sort or order keys by the form that the library's models choose, and return its result.

    To look at keys and to ask the models takes 50 to 150 us if they are in no cache.  So the predictions for keys that
    do not run one way are remembered, for each eighth of an octave of lengths and each `Variety.bits`.  They are those
    for that number of equally frequent keys.

    Parameters
    ----------
    library : Library
        A library of the keys, with models.
    request : Request
    seen : Variety or None
        Results of a glance; with None, the keys are looked at.  This is necessary to sort integers that may be counted,
        to sort anything where vectors do not beat NumPy, and to order keys of which few differ, because more counts
        there than how many differ.
    """
    n, most = len(request.keys), library.ranges[0].high
    if seen is None or n > most:
        return library(request)
    inputs = _inputs_of(library, seen.bits, typical(n, most))
    return library.call(library.remembered(*inputs), request)


@functools.lru_cache(maxsize=1024)
def _inputs_of(library: Library, bits: int, n: float) -> tuple[float, ...]:
    """Return the inputs of models for n keys of some variety in a wide range."""
    count, rng = sample_of(int(n)), np.random.default_rng(0)
    found = figures(np.arange(count) if bits == ALL_DIFFER else np.sort(rng.integers(0, 1 << bits, count)), int(n))
    order = 0.0 if bits == ALL_DIFFER else 2.0**-bits
    values = found._asdict() | {"n": n, "order": order, "width": 2.0**64}
    return tuple(values[name] for name in library.inputs)


def libraries(streams: int | None = None) -> list[Library]:
    """Return the libraries to calibrate for a number of streams, by default as many as there are CPUs."""
    count = streams_for(None) if streams is None else streams
    made = [sort_library(np.dtype(kind), count) for kind in KINDS]
    return [*made, *(_argsort_library(kind, count) for kind in KINDS)] if count > 1 else made


@functools.cache
def _kind(dtype: np.dtype[Any]) -> str:
    return ("float" if dtype.kind == "f" else "int") + str(8 * dtype.itemsize)


@functools.cache
def _sort_library(kind: str, streams: int, by_vectors: bool, splits: bool, alone: bool) -> Library:
    """Return the library for a kind of keys and a number of streams.

    It depends on whether vectors sort all keys, whether several streams may split keys by vectors, and whether it may
    pay to sort by vectors on one stream (``alone``).
    """
    integers, narrow = kind.startswith("int"), f"width <= n and width < {WIDEST}"
    made = Library(
        f"sort[{kind}, {streams} streams]",
        INPUTS | WIDTH if integers else INPUTS,
        Request.inputs,
        setup=_setup(kind),
        rule=functools.partial(_rule_of_sort, np.dtype(kind).itemsize, streams, by_vectors, splits, alone),
        points=100 if integers else 75,
        loops={"n": "100..1e7 x 25"} | LOOPS,
        guard=Guard("n", WORTH_A_LOOK / np.dtype(kind).itemsize, spared=_spared(np.dtype(kind)) if by_vectors else "0"),
    )

    def add(name: str, algorithm: str, threads: int, terms: list[str], when: str = "") -> None:
        function = functools.partial(Request.sort, algorithm=algorithm, streams=threads)
        made.add(Implementation(name, function, [*terms, _mapped(kind)], when))

    add("numpy", "numpy", 1, SPLITS)
    if by_vectors or alone:
        add("vectors alone", "vectors", 1, SPLITS)
    if integers:
        add("counting alone", "counting", 1, COUNTS, narrow)
    if integers and streams > 1:
        add("counting", "counting", streams, COUNTS, f"n >= {1 << 16} and {narrow}")
    if by_vectors and streams > 1:
        add("vectors", "vectors", streams, SPLITS, f"n > {CHUNK_BYTES // np.dtype(kind).itemsize}")
    elif splits:
        add("vectors", "vectors", streams, PASSES, f"n >= {1 << 16} and below >= 0.3")
    if streams > 1 and not (by_vectors or (splits and alone)):  # otherwise these two are never the fastest
        add("halves", "halves", streams, PASSES, f"n >= {1 << 16} and below >= 0.3")
        add("partition", "partition", streams, PARTS, f"n >= {1 << 18} and bits >= 1")
    return recalled(made)


@functools.cache
def _argsort_library(kind: str, streams: int) -> Library:
    made = Library(
        f"argsort[{kind}, {streams} streams]",
        INPUTS | UNEVEN,
        Request.inputs_of_order,
        setup=_setup(kind),
        rule=functools.partial(_rule_of_argsort, np.dtype(kind).itemsize, streams),
        points=45,
        loops={"n": "100..1e6 x 25"} | LOOPS,
        guard=Guard("n", WORTH_A_LOOK_FOR_ORDER / np.dtype(kind).itemsize, spared=MANY),
        correct=False,  # implementations order equal keys differently, and a call that is repeated gives the same order
    )

    def add(name: str, algorithm: str, threads: int, terms: list[str], when: str = "") -> None:
        function = functools.partial(Request.argsort, algorithm=algorithm, streams=threads)
        made.add(Implementation(name, function, [*terms, _mapped("int64")], when))

    add("numpy", "numpy", 1, RANKS)
    add("packed alone", "packed", 1, PACKED)
    if streams > 1:
        add("packed", "packed", streams, PACKED, f"n >= {worth_two()}")
    add("partition", "partition", streams, PARTS, f"n >= {worth_two()} and bits >= 1")
    return recalled(made)


def _spared(dtype: np.dtype[Any]) -> str:
    """Return the condition of keys to sort by vectors that need only a glance."""
    if dtype.kind == "f":
        return UNORDERED
    counted = f"width < n * {dtype.itemsize / BYTES_A_COUNTER[vectors.width()]} and n < {2 * KEYS_TO_COUNT}"
    return f"{UNORDERED} and (width > n or width >= {WIDEST} or bits <= {FEW_BITS} or ({counted}))"


def _setup(kind: str) -> Callable[..., tuple[Request]]:
    return lambda n, shape, span: (Request(sort_data(np.dtype(kind), n, shape, span)),)


def _mapped(kind: str) -> str:
    """Return the term for the keys of an array that is newly mapped."""
    return f"n if n > {MAPPED // np.dtype(kind).itemsize} else 0"


def _rule_of_sort(
    octets: int,
    streams: int,
    by_vectors: bool,
    splits: bool,
    alone: bool,
    n: float,
    bits: float,
    rare: float,
    order: float,
    below: float,
    width: float = math.inf,
) -> str:
    """Return the algorithm that `sort_fast` takes for "auto", as far as these numbers show it."""
    if by_vectors and n * octets < WORTH_VECTORS:
        return "numpy"
    few = bits < LEAST_BITS
    several = streams_by_rule(n * octets, streams, by_vectors, few) > 1
    if (
        width <= n * octets / BYTES_A_COUNTER[vectors.width()]
        and not few
        and n * octets >= worth_counting(by_vectors, octets)
    ):
        return "counting" if streams > 1 and n >= 2 * KEYS_TO_COUNT else "counting alone"
    if by_vectors:
        return "vectors" if several else "vectors alone"
    if streams == 1 or n * octets < worth_moving(splits) or (few and not (splits and several)):
        worth = WORTH_ALONE[octets] * (FEWER_ALONE[vectors.width()] if few else 1)
        return "vectors alone" if alone and n * octets >= worth else "numpy"
    if splits:
        return "vectors"
    return "halves" if n * octets < WORTH_PARTS else "partition"


def _rule_of_argsort(octets: int, streams: int, n: float, bits: float, *_: float) -> str:
    """Return the algorithm that `argsort_fast` takes for "auto", as far as these numbers show it."""
    if n < worth_packing(octets):
        return "numpy"
    if n >= WORTH_PARTING and bits < LEAST_BITS:
        return "partition"
    return "packed" if streams > 1 and n >= worth_two() else "packed alone"
