"""Comparison of two documents of one format by their keys, wherever the keys stand."""

import json
from collections.abc import Set
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data/profile"
QUICK, MPI = FOLDER / "quick.json", FOLDER / "mpi.json"
"""Profiles of a host, and of a machine of MPI with two nodes."""
NEWER: Set[str] = frozenset({"why", "valid", "compute_s", "elsewhere_ns", "elsewhere_GBps", "placement"})
"""Keys that rows have only if there is something to report."""
PREDICTED = frozenset(
    {
        "measured_s",
        "good_s",
        "bad_s",
        "random_s",
        "loc",
        "m_over_g",
        "inside",
        "supersteps",
        "supersteps_inside",
        "note",
        "verdict",
    }
)
"""Keys that a section has only if it was predicted."""


OF_MPI = ("nodes", "node_programs")
"""Sections that only a machine of MPI has."""


def measured(name: str) -> Any:
    """Return a section of the stored profiles."""
    return (json.loads(QUICK.read_text()) | {key: json.loads(MPI.read_text())[key] for key in OF_MPI})[name]


def assert_same_keys(found: Any, expected: Any, but: Set[str] = NEWER, where: str = "") -> None:
    """Assert that two documents have the same keys, except for those in ``but``.

    All numbers of processors count as one key, and all rows of a list as one row. A list that is empty in one of the
    two documents, or a part that is null there, is not compared.
    """
    if isinstance(found, dict) and isinstance(expected, dict):
        ours, theirs = _merged([found]), _merged([expected])
        assert set(ours) - but == set(theirs) - but, where
        for key in set(ours) & set(theirs):
            assert_same_keys(ours[key], theirs[key], but, f"{where}.{key}")
    elif isinstance(found, list) and isinstance(expected, list) and found and expected and isinstance(found[0], dict):
        assert_same_keys(_merged(found), _merged(expected), but, f"{where}[]")


def _merged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one mapping with the keys of all rows."""
    return {"p" if key.isdecimal() else key: value for row in rows for key, value in row.items()}
