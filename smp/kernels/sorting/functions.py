"""Sorting of plain NumPy arrays: which algorithm, where.

    numpy        np.sort                                             in the calling thread
    partition    keys moved into parts, which NumPy sorts            on streams of the calling process
    halves       the same with two parts                             the same
    counting     integers of a narrow range, counted                 the same
    radix        by digits, the lowest first                         on the processors of a machine
    sample       by splitters from a sample                          the same
    column       Leighton's column sort                              the same

The last three are SPMD programs, for ``machine.run`` too: `sort_radix`, `sort_sample`, `sort_column`.  "auto" and
"program" choose by models of this machine where it has been calibrated: see `smp.kernels.sorting.choice` and
`smp.kernels.sorting.programs`.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import Machine

from ..in_process import opened, streams_for
from .choice import Request, argsort_library, sort_library
from .counting import WIDEST, sort_by_counting
from .fast import MOST_KEYS, argsort_fast, repeats, sort_fast
from .forms import FORMS
from .keys import DTYPES, Keys
from .programs import ProgramRequest, program_library

ARGSORTS = ("auto", "numpy", "partition")
HERE = (*ARGSORTS, "halves", "counting")
WORTH_A_LOOK, WORTH_A_LOOK_FOR_ORDER = 1 << 21, 1 << 20
"""Bytes of keys from which what a look at them costs is little, when they are sorted and when argsort ranks them."""
_NATIVE = frozenset(DTYPES)


def sort(
    keys: ArrayLike, *, machine: Machine | None = None, algorithm: str = "auto", out: Keys | None = None
) -> NDArray[Any]:
    """Return the keys in ascending order, NaN last: `numpy.sort` on more than one CPU.

    Parameters
    ----------
    keys : array of shape (n,), int32, int64, uint32, uint64, float32 or float64
        Strided, read-only, not aligned, of either byte order too.
    machine : Machine, optional
        The fast forms use as many streams of the calling process as it has processors; SPMD programs run on it.  By
        default that of the ``with`` block around; else all CPUs, and for a program a machine opened for the call.
    algorithm : {"auto", "numpy", "halves", "partition", "counting", "radix", "sample", "column", "program"}
        "auto" is the one of the first four that models of this machine predict to be the fastest, for so many keys
        and what a look at up to 1024 of them tells; below 2 MiB it is "numpy".  Without models, which ``python -m
        smp.microbench --calibrate`` makes: "numpy" below 3 MiB of keys, on one CPU, and where a sample has few
        distinct keys or most in a few clusters; "counting" where the sample's range is narrow; else "halves" below
        16 MiB and "partition" above.

        "program" is the one of the last three that is predicted to be the fastest, radix sort with its best digit;
        without models radix sort for integers from 0 below 2**12, else sample sort.
    out : ndarray of shape (n,) and the keys' dtype, optional
        Where to put the result; ``keys`` itself is sorted in place.

    Returns
    -------
    ndarray of shape (n,)
        ``out``, or a new one in native byte order.  The bits of equal keys are not kept, as NumPy's sort does not
        keep them: 0.0 may become -0.0, and a NaN another.

    Raises
    ------
    TypeError
        Keys or ``out`` of another dtype; floats for "counting".
    ValueError
        Not one-dimensional; no such algorithm; ``out`` of another length, or read-only; keys of a range that is too
        wide for "counting".

    Notes
    -----
    Working memory beside the keys and the result: none to speak of; a copy of the keys for "partition" and "halves"
    into an ``out`` that is strided, of the other byte order, or shares memory with the keys, and for "halves" of keys
    that are such; for a program two or three.

    Examples
    --------
    >>> from smp.kernels import sort
    >>> sort([3.0, float("nan"), -1.0])
    array([-1.,  3., nan])
    """
    if algorithm == "auto" and out is None and _is_short(keys, WORTH_A_LOOK):
        made: NDArray[Any] = keys.copy()
        made.sort()
        return made
    given = _checked(keys, algorithm, (*HERE, *FORMS, "program"))
    result = np.empty(len(given), given.dtype.newbyteorder("=")) if out is None else _checked_out(out, given)
    if algorithm in FORMS or algorithm == "program":
        _run(algorithm, given, result, machine)
    elif algorithm == "counting":
        _count(given, result, machine)
    elif algorithm == "auto":
        _sort(given, result, streams_for(machine))
    else:
        sort_fast(given, result, 1 if algorithm == "numpy" else streams_for(machine), algorithm)
    return result


def argsort(keys: ArrayLike, *, machine: Machine | None = None, algorithm: str = "auto") -> NDArray[np.int64]:
    """Return the order that sorts the keys: `numpy.argsort` on more than one CPU.

    Parameters
    ----------
    keys, machine
        As for `sort`.
    algorithm : {"auto", "numpy", "partition"}
        "auto" chooses by models, as `sort` does, from 1 MiB of keys; without models it is "partition" from 1 MiB of
        keys on more than one CPU, unless a sample has few distinct keys or most in a few clusters.

    Returns
    -------
    int64 array of shape (n,)
        ``keys[order]`` is ascending, NaN last.  Not stable: the indices of equal keys come in any order.

    Raises
    ------
    TypeError, ValueError
        As for `sort`.

    Notes
    -----
    Working memory: a copy of the keys.

    Examples
    --------
    >>> from smp.kernels import argsort
    >>> argsort([30, 10, 20])
    array([1, 2, 0])
    """
    if algorithm == "auto" and _is_short(keys, WORTH_A_LOOK_FOR_ORDER):
        return np.argsort(keys).astype(np.int64, copy=False)
    given, streams = _checked(keys, algorithm, ARGSORTS), streams_for(machine)
    if algorithm == "auto" and given.nbytes >= WORTH_A_LOOK_FOR_ORDER and len(given) <= MOST_KEYS:
        library = argsort_library(given.dtype, streams)
        if library.models:
            order: NDArray[np.int64] = library(Request(given))
            return order
    return argsort_fast(given, streams, algorithm)


def _is_short(keys: ArrayLike, least: int) -> TypeGuard[NDArray[Any]]:
    """Whether NumPy takes the keys as they are, and at once: nothing else is done for short arrays."""
    return type(keys) is np.ndarray and keys.nbytes < least and keys.ndim == 1 and keys.dtype in _NATIVE


def _checked(keys: ArrayLike, algorithm: str, algorithms: tuple[str, ...]) -> Keys:
    given = np.asarray(keys)
    if given.dtype.newbyteorder("=") not in _NATIVE:
        names = ", ".join(dtype.name for dtype in DTYPES)
        raise TypeError(f"keys are {given.dtype}, and taken are {names}; convert them, or use numpy.sort")
    if given.ndim != 1:
        raise ValueError(f"keys form a one-dimensional array, not one of shape {given.shape}")
    if algorithm not in algorithms:
        raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(algorithms)}")
    return given


def _checked_out(out: Keys, keys: Keys) -> Keys:
    if not isinstance(out, np.ndarray) or out.dtype.newbyteorder("=") != keys.dtype.newbyteorder("="):
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"out must be an ndarray of {keys.dtype}, as the keys are, not {kind}")
    if out.shape != keys.shape:
        raise ValueError(f"out has shape {out.shape}, the keys {keys.shape}: they must be the same")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    return out


def _count(keys: Keys, out: Keys, machine: Machine | None) -> None:
    if keys.dtype.kind == "f":
        raise TypeError(f"counting takes integers, not {keys.dtype}; algorithm='partition' takes these")
    if len(keys):
        lowest, highest = int(keys.min()), int(keys.max())
        if highest - lowest >= WIDEST:
            raise ValueError(
                f"counting takes a range of up to {WIDEST:,} integers, and the keys lie between {lowest} and "
                f"{highest}; algorithm='partition' takes any"
            )
        sort_by_counting(keys, lowest, highest - lowest + 1, out, streams_for(machine))


def _sort(keys: Keys, out: Keys, streams: int) -> None:
    """Sort as the models say, or else the rule."""
    if keys.nbytes >= WORTH_A_LOOK and len(keys) <= MOST_KEYS:
        library = sort_library(keys.dtype, streams)
        if library.models:
            library(Request(keys, out))
            return
    sort_fast(keys, out, 1 if repeats(keys) else streams, "auto")


def _run(algorithm: str, keys: Keys, out: Keys, machine: Machine | None) -> None:
    """Sort with an SPMD program."""
    with opened(machine) as chosen:
        request = ProgramRequest(keys, out, chosen)
        if algorithm == "program":
            program_library(keys.dtype, chosen.size)(request)
        else:
            request.run(algorithm)
