"""Sorting of plain NumPy arrays, with a choice of algorithm and of the place where it runs.

    numpy        np.sort                                             in the calling thread
    vectors      split in place by pivots, by vector instructions    on streams of the calling process
    partition    keys moved into parts, which NumPy sorts            the same
    halves       the same with two parts                             the same
    counting     integers of a narrow range, counted                 the same
    radix        by digits, the lowest first                         on the processors of a machine
    sample       by splitters from a sample                          the same
    column       Leighton's column sort                              the same

The last three are SPMD programs, which also work with ``machine.run``: `sort_radix`, `sort_sample`, `sort_column`.  If
this machine has been calibrated, "auto" and "program" choose by its models: see `smp.kernels.sorting.choice` and
`smp.kernels.sorting.programs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import Machine
from smp.errors import Unsupported

from ..in_process import check_threads, opened, streams_for
from .at_once import copied, is_left_to_numpy, may_receive, sort_at_once
from .by_vectors import vectors
from .choice import Request, by_models, models_are_asked, models_of_order, sort_library
from .counting import WIDEST, count_exactly
from .fast import (
    FEW_BITS,
    LEAST,
    MOST_KEYS,
    WORTH_VECTORS,
    count_at_a_glance,
    may_count,
    sort_fast,
    streams_by_rule,
    worth_alone,
)
from .forms import FORMS
from .keys import DTYPES, Keys
from .orders.at_once import argsort_at_once
from .orders.fast import MANY_BITS, SHORTEST_FEW, argsort_fast, argsort_few, counts_few, worth_two
from .orders.values import MOST_VALUES, argsort_values
from .parts import is_plain
from .programs import ProgramRequest, program_library
from .sampling import ALL_DIFFER, direction, repeats, variety

ARGSORTS = ("auto", "numpy", "packed", "partition", "values")
HERE = ("auto", "numpy", "vectors", "halves", "partition", "counting")
_NATIVE = frozenset(DTYPES)


def sort(
    keys: ArrayLike,
    *,
    machine: Machine | None = None,
    algorithm: str = "auto",
    threads: int | None = None,
    out: Keys | None = None,
) -> NDArray[Any]:
    """Return the keys in ascending order with NaN last, like `numpy.sort` but on more than one CPU.

    Parameters
    ----------
    keys : array of shape (n,), int32, int64, uint32, uint64, float32 or float64
        Keys to sort.  The array may be strided, read-only, unaligned, or in either byte order.
    machine : Machine, optional
        Machine on which SPMD programs run; the fast forms use as many streams of the calling process as it has
        processors.  By default the machine of the enclosing ``with`` block.  Without one, the fast forms use all CPUs,
        and a program runs on a machine that is opened for the call.
    algorithm : {"auto", "numpy", "vectors", "halves", "partition", "counting", "radix", "sample", "column", "program"}
        "auto" is "numpy" for few keys, and a copy for keys that ascend or descend already.  For others, models of this
        machine choose among "numpy", "counting" and the others that run in this process: "vectors" on AMD's Zen 4, else
        "halves" and "partition", with vectors and up to four streams also "vectors".  They predict the fastest from the
        number of keys and a look at 32 to 1024 of them.  In place, the rule holds on other CPUs with vectors: models
        are of sorts into a new array.
        ``python -m smp.microbench --calibrate`` makes them, and determines from which number of keys on they are worth
        asking.  On CPUs whose vectors split the keys, they are not asked about arrays that are too short to be split.
        Fewer than 512K integers of a narrow range are counted by the rule on CPUs other than Zen 4.

        Without models, "auto" follows a rule.  It is "counting" for integers of a narrow range if there are 12 KiB of
        them, 16 KiB on AMD's Zen 4, or 20 KiB of int32 and uint32 on other CPUs with AVX-512.  Otherwise it is
        "vectors" on Zen 4, and "numpy" below 5.5 KiB.  On other CPUs, it is "numpy" below 3 MiB, on one CPU, and if a
        sample has few distinct keys or most of them in a few clusters; else it is "halves" below 16 MiB and "partition"
        above.  With AVX2 or AVX-512, and on up to four streams, it is "vectors" instead of these two: with AVX2 from
        512 KiB on, and from 2 to 11 times that on if some of 64 keys are equal; with AVX-512 from 320 KiB on, and from
        4 to 40 times that on.  With AVX2 alone, one stream takes "vectors" for 128 KiB of keys of four bytes and
        192 KiB of eight, or twice that of few distinct ones; with AVX-512, for 192 KiB of integers of eight bytes, of
        which 64 all differ.  Each stream has at least 1 MiB, but two share what these limits say, and 256 KiB on Zen 4.
        Each counts at least 256K keys.

        "vectors" sorts with vectors alone on AMD's Zen 4 and with AVX2.  On other CPUs with AVX-512, NumPy sorts parts
        of up to 4 MiB that have few values, and on one stream all keys but integers of eight bytes.

        "program" is the one of "radix", "sample" and "column" that is predicted to be the fastest, radix sort with its
        best digit.  Without models, it is radix sort for integers from 0 to 2**12 - 1, else sample sort.
    threads : int, optional
        Number of streams of the fast forms: threads of the calling process, which share the keys out.  "auto" may use
        fewer, if that is faster.  By default it is that of the CPUs or of the machine's processors.  If there are more
        threads than CPUs, they take turns.
    out : ndarray of shape (n,) and the keys' dtype, optional
        Array for the result.  If it is ``keys`` itself, the keys are sorted in place.

    Returns
    -------
    ndarray of shape (n,)
        ``out``, or a new array in native byte order.  Like NumPy's sort, this does not keep the bits of equal keys: 0.0
        may become -0.0, and one NaN another.

    Raises
    ------
    TypeError
        The keys have none of the listed dtypes, ``out`` is not an ndarray of their dtype, or the keys are floats and
        the algorithm is "counting".
    ValueError
        The keys are not one-dimensional, there is no such algorithm, ``out`` has another length or is read-only, or the
        range of the keys is too wide for "counting".  Also if ``threads`` is not from 1 to 256, if it is given with an
        SPMD program, or if it is more than 1 with "numpy".
    Unsupported
        The algorithm is "vectors" and the CPU has neither AVX-512 nor AVX2.

    Notes
    -----
    Most forms need hardly any memory in addition to the keys and the result.  "vectors", "partition" and "halves" need
    a copy of the keys if ``out`` is strided, in the other byte order, or shares memory with the keys.  "vectors" does
    not need it if ``out`` is the keys themselves.  "halves" also needs one if the keys are strided or in the other byte
    order.  A program needs two or three copies.

    Examples
    --------
    >>> from smp.kernels import sort
    >>> sort([3.0, float("nan"), -1.0])
    array([-1.,  3., nan])
    """
    if (  # in line, because a call takes a tenth of the time in which NumPy sorts one key
        algorithm == "auto"
        and type(keys) is np.ndarray
        and keys.ndim == 1
        and keys.dtype in _NATIVE
        and (out is None or may_receive(out, keys))
    ):
        if threads is not None:
            check_threads(threads, 'algorithm="auto"', True)
        if keys.nbytes < WORTH_VECTORS or is_left_to_numpy(keys):
            made = keys.copy() if out is None else copied(keys, out)
            made.sort()
            return made
        done = sort_at_once(keys, out, threads, machine)
        if done is not None:
            return done
    given = _checked(keys, algorithm, (*HERE, *FORMS, "program"))
    if threads is not None:
        check_threads(threads, f"algorithm={algorithm!r}", algorithm in HERE, algorithm == "numpy")
    if algorithm == "vectors" and not vectors.has_vectors():
        raise Unsupported('algorithm="vectors" needs a CPU with AVX-512 or AVX2, and this one has neither: use "auto"')
    result = np.empty(len(given), given.dtype.newbyteorder("=")) if out is None else _checked_out(out, given)
    if algorithm in FORMS or algorithm == "program":
        _run(algorithm, given, result, machine)
    elif algorithm == "counting":
        _count(given, result, threads or streams_for(machine))
    elif algorithm == "auto":
        _sort(given, result, threads, machine)
    else:
        sort_fast(given, result, 1 if algorithm == "numpy" else threads or streams_for(machine), algorithm)
    return result


def argsort(
    keys: ArrayLike, *, machine: Machine | None = None, algorithm: str = "auto", threads: int | None = None
) -> NDArray[np.int64]:
    """Return the order that sorts the keys, like `numpy.argsort` but on more than one CPU.

    Parameters
    ----------
    keys, machine, threads
        As for `sort`.
    algorithm : {"auto", "numpy", "packed", "partition", "values"}
        "packed" sorts words, each of which holds a key's bits and its index.  "partition" moves keys and indices into
        parts, which NumPy orders; it is faster where few keys differ.  "values" counts the keys of each value; there
        may be at most 256 values.

        "auto" is "numpy" for few keys: on AMD's Zen 4 below 1280 of four bytes and below 1792 of eight, on other CPUs
        below 3072 and 7168, or below 2560 and 6144 with AVX-512.  Except on Zen 4, it is "values" from 1024 keys on if
        fewer than 57 of 64 keys differ, unless there turn out to be more than 256 values.  Each thread then has at
        least 65,536 keys, or 131,072 if there are no more than a handful of values.  Keys that ascend or descend
        already have their order at once.  Others are "packed" below 65,536 keys, or 40,960 with AVX-512, and on one
        thread, and with AVX2 or AVX-512 on up to four, except on Zen 4.  Elsewhere, it chooses by models, as `sort`
        does.  Without models, it is "packed", or "partition" if there are 2**18 keys or more and a sample has few
        distinct ones.

    Returns
    -------
    int64 array of shape (n,)
        The order: ``keys[order]`` is ascending with NaN last.  It is not stable: the indices of equal keys come in any
        order.

    Raises
    ------
    TypeError, ValueError
        As for `sort`; also if there are more than 256 values with "values", or more than one thread with "numpy".

    Notes
    -----
    "packed" works in the array of the result, and copies keys that are strided, read-only, unaligned or in the other
    byte order.  On CPUs whose vectors do not split keys for "auto" in `sort`, it needs another array of this size.
    "partition" copies the keys.  "values" needs a byte for each key in addition.

    Examples
    --------
    >>> from smp.kernels import argsort
    >>> argsort([30, 10, 20])
    array([1, 2, 0])
    """
    if algorithm == "auto" and type(keys) is np.ndarray and keys.ndim == 1 and keys.dtype in _NATIVE:
        if threads is not None:
            check_threads(threads, 'algorithm="auto"', True)
        if len(keys) < SHORTEST_FEW:
            return keys.argsort()
        if (done := argsort_at_once(keys, threads, machine)) is not None:
            return done
    given = _checked(keys, algorithm, ARGSORTS)
    check_threads(threads, f"algorithm={algorithm!r}", True, algorithm == "numpy")
    if algorithm == "values":
        if (ordered := argsort_values(given, threads or streams_for(machine))) is None:
            raise ValueError(
                f"the keys have more than {MOST_VALUES} values, which algorithm='values' cannot tell apart; use "
                "algorithm='packed', which takes any"
            )
        return ordered
    if algorithm != "auto":
        streams = threads or streams_for(machine)
        return argsort_fast(given, streams, algorithm, light=streams)
    return _argsort(given, threads, machine)


def _checked(keys: ArrayLike, algorithm: str, algorithms: tuple[str, ...]) -> Keys:
    given = np.asarray(keys)
    if given.dtype not in _NATIVE and given.dtype.newbyteorder("=") not in _NATIVE:
        names = ", ".join(dtype.name for dtype in DTYPES)
        raise TypeError(f"keys are {given.dtype}, but must be one of {names}; convert them, or use numpy.sort")
    if given.ndim != 1:
        raise ValueError(f"keys must be a one-dimensional array, not one of shape {given.shape}")
    if algorithm not in algorithms:
        raise ValueError(f"unknown algorithm {algorithm!r}; choose one of {', '.join(algorithms)}")
    return given


def _checked_out(out: Keys, keys: Keys) -> Keys:
    if not isinstance(out, np.ndarray) or out.dtype.newbyteorder("=") != keys.dtype.newbyteorder("="):
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"out must be an ndarray of {keys.dtype}, like the keys, not {kind}")
    if out.shape != keys.shape:
        raise ValueError(
            f"out has shape {out.shape}, but the keys have shape {keys.shape}: both shapes must be the same"
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only: give a writable array")
    return out


def _count(keys: Keys, out: Keys, streams: int) -> None:
    if keys.dtype.kind == "f":
        raise TypeError(f"counting takes integers, not {keys.dtype}; use algorithm='partition' for these")
    if len(keys) and not count_exactly(keys, WIDEST, out, streams):
        raise ValueError(
            f"counting takes a range of up to {WIDEST:,} integers, but the keys lie between {keys.min()} and "
            f"{keys.max()}; use algorithm='partition', which takes any"
        )


def _sort(keys: Keys, out: Keys, threads: int | None, machine: Machine | None) -> None:
    """Sort with the form that the models choose, or else the rule; keys in order are only copied."""
    long, by_vectors = keys.nbytes >= LEAST and len(keys) <= MOST_KEYS, vectors.beat_numpy()
    seen = variety(keys) if long and is_plain(keys) else None
    if seen is None and (way := direction(keys)):
        if way < 0 or keys is not out:
            given = keys[::way]
            np.copyto(out, given.copy() if np.may_share_memory(keys, out) else given)
        return
    streams = threads or (streams_for(machine) if keys.nbytes >= LEAST else 1)
    asked = sort_library(keys.dtype, streams) if long and models_are_asked(keys, keys is out, streams) else None
    if seen and (by_vectors or not asked) and count_at_a_glance(keys, out, seen):
        return
    by_glance = seen if seen and by_vectors and not may_count(keys, seen) else None
    if asked:
        by_models(asked, Request(keys, out), by_glance)
        return
    few = seen.bits <= FEW_BITS if seen else streams > 1 and repeats(keys)
    several = streams_by_rule(keys.nbytes, streams, by_vectors, few)
    if by_glance:
        sort_fast(keys, out, several, "vectors")
    else:
        left = few and several == 1 and not (by_vectors or worth_alone(keys))
        sort_fast(keys, out, several, "numpy" if left else "auto")


def _argsort(keys: Keys, threads: int | None, machine: Machine | None) -> NDArray[np.int64]:
    """Order keys with the form that the models choose, or else the rule; keys in order have theirs at once."""
    n, streams, asked, glance, few = len(keys), 1, None, None, False
    if n >= worth_two():
        streams = threads or streams_for(machine)
        asked = models_of_order(keys, streams)
        if is_plain(keys) and (glance := variety(keys)) is not None:
            few = glance.bits < MANY_BITS
    if glance is None and (way := direction(keys)):
        return np.arange(n, dtype=np.int64) if way > 0 else np.arange(n - 1, -1, -1, dtype=np.int64)
    if glance and few and counts_few():
        if (ordered := argsort_few(keys, streams)) is not None:
            return ordered
        glance, few = glance._replace(bits=ALL_DIFFER), False  # more values are ordered soonest as if all differed
    if asked is None:
        return argsort_fast(keys, streams)
    order: NDArray[np.int64] = by_models(asked, Request(keys), None if few else glance)
    return order


def _run(algorithm: str, keys: Keys, out: Keys, machine: Machine | None) -> None:
    """Sort with an SPMD program."""
    with opened(machine) as chosen:
        request = ProgramRequest(keys, out, chosen)
        if algorithm == "program":
            program_library(keys.dtype, chosen.size)(request)
        else:
            request.run(algorithm)
