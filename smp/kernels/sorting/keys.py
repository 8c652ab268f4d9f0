"""Images of keys: unsigned integers of the same width and in the same order as the keys to be sorted.

    unsigned   as they are
    signed     the sign bit flipped                        -2^31 ─▶ 0   -1 ─▶ 2^31 - 1   0 ─▶ 2^31
    float      the sign bit flipped, in negative numbers all bits, which orders them as on a circle

                   NaN with sign │ -inf … -0.0  0.0 … inf │ NaN

               the circle is then turned until -inf is 0: a NaN with sign goes round to the end, behind the others

So the order is that of NumPy, with every NaN last, and -0.0 comes before 0.0.  The mapping is a bijection: keys come
back bit for bit.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp import GlobalArray, inline, local

Keys = NDArray[Any]  # of one of DTYPES
Images = NDArray[Any]  # uint32 or uint64
_UNSIGNED: dict[int, np.dtype[Any]] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
Rule = tuple[np.uint64, ...]  # place of the sign, bits always flipped, bits also flipped if negative, -inf, all bits

DTYPES = tuple(np.dtype(kind) for kind in (np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64))


def check_keys(keys: GlobalArray) -> int:
    """Return the number of keys; raise an error, on all processors alike, for arrays that no program sorts."""
    if keys.dtype not in DTYPES:
        names = ", ".join(dtype.name for dtype in DTYPES)
        raise TypeError(f"keys is a global array of {keys.dtype}, but the sorting programs take {names}")
    if keys.ndim != 1:
        raise ValueError(f"keys must be a one-dimensional global array, not one of shape {keys.shape}")
    return len(keys)


def check_number(name: str, number: int, least: int, most: int | None = None) -> int:
    """Return a whole number within bounds; raise TypeError or ValueError for anything else."""
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {number!r}") from None
    if whole < least or (most is not None and whole > most):
        raise ValueError(
            f"{name} must be {f'at least {least}' if most is None else f'from {least} to {most}'}, not {whole}"
        )
    return whole


def unsigned(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the unsigned type of the same width."""
    return _UNSIGNED[np.dtype(dtype).itemsize]


def images(keys: Keys) -> Images:
    """Return the images of keys; unsigned keys are returned as they are, not copied.

    Parameters
    ----------
    keys : contiguous array of one of `DTYPES`

    Returns
    -------
    array of the same length, uint32 or uint64

    Examples
    --------
    >>> import numpy as np
    >>> from smp.kernels.sorting.keys import images
    >>> images(np.array([-1, 0, 1], np.int32)) - np.uint32(2**31 - 1)
    array([0, 1, 2], dtype=uint32)
    """
    bits: Images = keys.view(unsigned(keys.dtype))
    return bits if keys.dtype.kind == "u" else _mapped(_to_images, bits, keys.dtype)


def keys_of(mapped: Images, dtype: DTypeLike) -> Keys:
    """Return the keys of a type that have these images; see `images`."""
    wanted = np.dtype(dtype)
    return mapped if wanted.kind == "u" else _mapped(_to_bits, mapped, wanted).view(wanted)


def _mapped(loop: Any, given: Images, dtype: np.dtype[Any]) -> Images:
    made = np.empty_like(given)
    loop(given, rule_of(dtype), made)
    return made


@functools.cache
def rule_of(dtype: np.dtype[Any]) -> Rule:
    """Return the rule that maps the bits of keys, in native byte order, to their images."""
    width = 8 * dtype.itemsize
    sign, every = 1 << (width - 1), (1 << width) - 1
    if dtype.kind != "f":
        sign, rest, lowest = sign * (dtype.kind == "i"), 0, 0
    else:
        rest = every - sign
        lowest = every - int(np.array(-np.inf, dtype).view(unsigned(dtype)))
    return tuple(np.uint64(number) for number in (width - 1, sign, rest, lowest, every))


@inline
def image(bits: Any, rule: Rule) -> np.uint64:
    """Return the image of a key with these bits."""
    place, sign, rest, lowest, every = rule
    x = np.uint64(bits)
    negative = np.uint64(0) - (x >> place)  # all ones or none
    return ((x ^ sign ^ (negative & rest)) - lowest) & every


@local
def _to_images(bits: Images, rule: Rule, made: Images) -> None:
    for i in range(len(bits)):
        made[i] = image(bits[i], rule)


@local
def _to_bits(mapped: Images, rule: Rule, made: Images) -> None:
    place, sign, rest, lowest, every = rule
    for i in range(len(mapped)):
        x = (np.uint64(mapped[i]) + lowest) & every
        negative = (x >> place) - np.uint64(1)
        made[i] = x ^ sign ^ (negative & rest)
