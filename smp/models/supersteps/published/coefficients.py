"""Coefficients of the cost functions that the SMP cost study printed for an SGI Power Challenge (tables 1 to 4).

L is in microseconds, the other coefficients are in microseconds per word of 4 bytes. Up to `CACHE_WORDS` of a
processor's reads, and up to as many of its writes, are charged as accesses to its L2 cache; further words are charged
as accesses to memory. The good functions are for two sets of supersteps: R0, in which no processor reads or writes
more than `CACHE_WORDS`, and R1, the others.
"""

from typing import Any

PROCESSORS = (2, 4, 8, 12)
WORD_BYTES = 4
CACHE_WORDS = 1 << 19
"""Words that the L2 cache holds (section 4.2.1)."""

CACHED = ("L", "ghr1", "ghw1", "gM")
BEYOND = ("L", "ghr1", "ghr2", "ghw1", "ghw2", "gM")

# (source, family, p, function, set): terms and their coefficients
_PRINTED: dict[tuple[str, str, int, str, str], tuple[tuple[str, ...], tuple[float, ...]]] = {
    ("table 1", "good", 8, "H", "R0"): (("L", "gh"), (141, 0.0236)),
    ("table 1", "good", 8, "H", "R1"): (("L", "gh"), (-33137, 0.0897)),
    ("table 1", "good", 8, "HrHw", "R0"): (("L", "ghr", "ghw"), (138, 0.0186, 0.0090)),
    ("table 1", "good", 8, "HrHw", "R1"): (("L", "ghr", "ghw"), (-34252, 0.0573, 0.0487)),
    ("table 1", "good", 8, "HM", "R0"): (("L", "gh", "gM"), (141, 0.0180, 0.00062)),
    ("table 1", "good", 8, "HM", "R1"): (("L", "gh", "gM"), (-33137, 0.0606, 0.00322)),
    # hrm and hwm, the words in memory, are 0 in R0: its coefficients of memory are not measurements, and are left out
    ("table 2", "good", 2, "HrHwM-c", "R0"): (CACHED, (-30, 0.0184, 0.0086, 0.00009)),
    ("table 2", "good", 2, "HrHwM-c", "R1"): (BEYOND, (-5153, 0.0256, 0.0482, 0.0159, 0.0442, 0.00018)),
    ("table 2", "good", 4, "HrHwM-c", "R0"): (CACHED, (18, 0.0185, 0.0084, 0.00013)),
    ("table 2", "good", 4, "HrHwM-c", "R1"): (BEYOND, (-2162, 0.0230, 0.0489, 0.0113, 0.0444, 0.00024)),
    ("table 2", "good", 8, "HrHwM-c", "R0"): (CACHED, (140, 0.0184, 0.0087, 0.00005)),
    ("table 2", "good", 8, "HrHwM-c", "R1"): (BEYOND, (0, 0.0202, 0.0492, 0.0082, 0.0444, 0.00027)),
    ("table 2", "good", 12, "HrHwM-c", "R0"): (CACHED, (279, 0.0183, 0.0087, 0.00004)),
    ("table 2", "good", 12, "HrHwM-c", "R1"): (BEYOND, (0, 0.0191, 0.0491, 0.0081, 0.0444, 0.00035)),
    ("table 3", "bad", 8, "H", "all"): (("L", "gh"), (13055, 1.8974)),
    ("table 3", "bad", 8, "HrHw", "all"): (("L", "ghr", "ghw"), (13767, 0.7072, 1.5467)),
    ("table 3", "bad", 8, "HM", "all"): (("L", "gh", "gM"), (18791, 0.3221, 0.20423)),
    ("table 4", "bad", 2, "HrHwM", "all"): (("L", "ghr", "ghw", "gM"), (10444, 0.5062, 1.0377, 0.0484)),
    ("table 4", "bad", 4, "HrHwM", "all"): (("L", "ghr", "ghw", "gM"), (16261, 0.4748, 1.0166, 0.0663)),
    ("table 4", "bad", 8, "HrHwM", "all"): (("L", "ghr", "ghw", "gM"), (16566, 0.4612, 0.7708, 0.1113)),
    ("table 4", "bad", 12, "HrHwM", "all"): (("L", "ghr", "ghw", "gM"), (16555, 0.2429, 0.5755, 0.1697)),
}


def paper_functions() -> list[dict[str, Any]]:
    """Return the cost functions that the paper printed.

    Returns
    -------
    list of dict
        ``family, p, name, set, fit_suite, terms, coefficients, source``, in the form in which
        `smp.models.supersteps.access.fit_family` returns fitted functions, in seconds; ``source`` is the table.

    Examples
    --------
    >>> [row["coefficients"][0] for row in paper_functions() if row["source"] == "table 4"]
    [0.010444, 0.016261, 0.016566, 0.016555]
    """
    return [
        {
            "family": family,
            "p": p,
            "name": name,
            "set": label,
            "fit_suite": 1 if family == "good" else 2,
            "terms": list(terms),
            "coefficients": [us / 1e6 for us in coefficients],
            "source": source,
        }
        for (source, family, p, name, label), (terms, coefficients) in _PRINTED.items()
    ]
