"""Functions that compiled loops call instead of the definitions in ``vectors``; imported together with Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from smp._runtime.loops.compiler import overloads

from ..keys import Images, Keys
from ..parts import Numbers
from . import vectors
from .equal import count_equal, store_equal
from .network import sort_few
from .splitting import split_group, split_some, split_vector


# Numba compares the names and types of the parameters of all these functions.
def _of_vector(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
    def with_vectors(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
        return split_vector(source, at, keys, left, right, pivot)

    return with_vectors if vectors.has_vectors() else vectors.split_vector


def _of_group(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
    def with_vectors(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
        return split_group(source, at, keys, left, right, pivot)

    return with_vectors if vectors.has_vectors() else vectors.split_group


def _of_some(source: Keys, at: int, count: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
    def with_vectors(source: Keys, at: int, count: int, keys: Keys, left: int, right: int, pivot: Any) -> Any:
        return split_some(source, at, count, keys, left, right, pivot)

    return with_vectors if vectors.has_vectors() else vectors.split_some


def _of_lanes(keys: Any) -> Any:
    count = 8 * vectors.width() // int(keys.dtype.bitwidth)

    def with_vectors(keys: Any) -> int:
        return count

    return with_vectors


def _of_split_lanes(keys: Any) -> Any:
    octets = int(keys.dtype.bitwidth) // 8
    count = min(vectors.width() // octets, vectors.most_split(octets))

    def with_vectors(keys: Any) -> int:
        return count

    return with_vectors


def _of_few(source: Keys, at: int, keys: Keys, first: int, count: int) -> Any:
    def of_integers(source: Keys, at: int, keys: Keys, first: int, count: int) -> None:
        sort_few(source, at, keys, first, count)

    def of_floats(source: Keys, at: int, keys: Keys, first: int, count: int) -> None:
        if not sort_few(source, at, keys, first, count):  # there is a NaN
            numbers = 0
            for i in range(at, at + count):
                key = source[i]
                if key == key:
                    source[i] = source[at + numbers]
                    source[at + numbers] = key
                    numbers += 1
            sort_few(source, at, keys, first, numbers)
            for i in range(numbers, count):
                keys[first + i] = source[at + i]

    with_vectors = of_floats if isinstance(keys.dtype, types.Float) else of_integers
    return with_vectors if vectors.has_vectors() else vectors.sort_few


def _of_count(bits: Images, at: int, value: Any) -> Any:
    def with_vectors(bits: Images, at: int, value: Any) -> Any:
        return count_equal(bits, at, value)

    return with_vectors


def _of_store(bits: Images, at: int, value: Any, order: Numbers, place: int, index: int) -> Any:
    def with_vectors(bits: Images, at: int, value: Any, order: Numbers, place: int, index: int) -> Any:
        return store_equal(bits, at, value, order, place, index)

    return with_vectors


def _of_before(key: Any) -> Any:
    kind: Any = getattr(np, str(key))
    floats = isinstance(key, types.Float)
    end, one = kind(-np.inf if floats else np.iinfo(kind).min), kind(1)

    def of_floats(key: Any) -> Any:
        return np.nextafter(key, end)

    def of_integers(key: Any) -> Any:
        return kind(key - one) if key > end else key

    return of_floats if floats else of_integers


overloads(vectors.lanes_of, _of_lanes)
overloads(vectors.split_lanes_of, _of_split_lanes)
overloads(vectors.split_vector, _of_vector)
overloads(vectors.split_some, _of_some)
overloads(vectors.split_group, _of_group)
overloads(vectors.sort_few, _of_few)
overloads(vectors.count_equal, _of_count)
overloads(vectors.store_equal, _of_store)
overloads(vectors.before, _of_before)
