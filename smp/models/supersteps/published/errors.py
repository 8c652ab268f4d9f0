"""Validation errors that the SMP paper printed for an SGI Power Challenge (tables 5 to 8).

A fit on another machine is compared with them, for the same functions, sets, suites and numbers of processors.
"""

from typing import Any

from .coefficients import PROCESSORS

# (family, function, set, validation suite): (average, maximum) relative error for each of PROCESSORS
PAPER_ERRORS = {
    # Table 5
    ("good", "H", "R0", 2): ((0.151, 0.430), (0.175, 0.888), (0.177, 1.089), (0.170, 1.258)),
    ("good", "H", "R1", 2): ((0.188, 0.480), (0.217, 0.840), (0.250, 1.141), (0.290, 1.220)),
    ("good", "HrHw", "R0", 2): ((0.046, 0.386), (0.037, 0.321), (0.050, 0.303), (0.066, 0.362)),
    ("good", "HrHw", "R1", 2): ((0.034, 0.323), (0.061, 0.641), (0.150, 1.461), (0.241, 1.090)),
    ("good", "HM", "R0", 2): ((0.134, 0.409), (0.148, 0.698), (0.148, 0.899), (0.145, 1.048)),
    ("good", "HM", "R1", 2): ((0.144, 0.398), (0.172, 0.501), (0.158, 0.498), (0.160, 0.615)),
    ("good", "HrHwM-c", "R0", 2): ((0.046, 0.388), (0.036, 0.310), (0.049, 0.296), (0.065, 0.360)),
    ("good", "HrHwM-c", "R1", 2): ((0.014, 0.077), (0.017, 0.116), (0.026, 0.136), (0.049, 0.262)),
    # Table 6
    ("good", "H", "R0", 3): ((0.089, 0.603), (0.087, 0.480), (0.088, 0.444), (0.089, 0.450)),
    ("good", "H", "R1", 3): ((0.074, 0.270), (0.096, 0.248), (0.111, 0.365), (0.141, 0.800)),
    ("good", "HrHw", "R0", 3): ((0.048, 0.566), (0.044, 0.489), (0.054, 0.444), (0.070, 0.435)),
    ("good", "HrHw", "R1", 3): ((0.026, 0.133), (0.055, 0.243), (0.115, 0.311), (0.198, 0.452)),
    ("good", "HM", "R0", 3): ((0.074, 0.566), (0.068, 0.470), (0.080, 0.446), (0.087, 0.426)),
    ("good", "HM", "R1", 3): ((0.068, 0.260), (0.074, 0.258), (0.078, 0.344), (0.093, 0.445)),
    ("good", "HrHwM-c", "R0", 3): ((0.048, 0.565), (0.044, 0.472), (0.055, 0.438), (0.069, 0.431)),
    ("good", "HrHwM-c", "R1", 3): ((0.016, 0.072), (0.022, 0.103), (0.042, 0.200), (0.070, 0.367)),
    # Table 7
    ("bad", "H", "all", 1): ((0.203, 0.309), (0.211, 0.700), (0.286, 1.366), (0.354, 2.020)),
    ("bad", "HrHw", "all", 1): ((0.075, 0.222), (0.097, 0.279), (0.178, 0.355), (0.253, 0.731)),
    ("bad", "HM", "all", 1): ((0.083, 0.148), (0.099, 0.299), (0.104, 0.366), (0.108, 0.442)),
    ("bad", "HrHwM", "all", 1): ((0.057, 0.206), (0.058, 0.205), (0.063, 0.201), (0.060, 0.277)),
    # Table 8
    ("bad", "H", "all", 3): ((0.097, 0.282), (0.143, 0.386), (0.145, 0.4013), (0.133, 0.594)),
    ("bad", "HrHw", "all", 3): ((0.051, 0.358), (0.078, 0.451), (0.084, 0.290), (0.090, 0.460)),
    ("bad", "HM", "all", 3): ((0.096, 0.449), (0.085, 0.556), (0.066, 0.513), (0.070, 0.438)),
    ("bad", "HrHwM", "all", 3): ((0.048, 0.359), (0.056, 0.480), (0.049, 0.397), (0.059, 0.409)),
}


ERROR_TABLES = {("good", 2): 5, ("good", 3): 6, ("bad", 1): 7, ("bad", 3): 8}
"""Number of the paper's table for a family and the suite that it was validated on."""


def paper_errors(p: int) -> list[dict[str, Any]]:
    """Return the errors that the paper printed for p processors.

    Parameters
    ----------
    p : int
        Number of processors.

    Returns
    -------
    list of dict
        ``family, p, name, set, suite, average, maximum``, with the same keys as the validation rows of
        `smp.models.supersteps.access.fit_family`, and ``source``, the table. Empty for a p that the paper did not
        measure.

    Examples
    --------
    >>> [row["average"] for row in paper_errors(8) if row["name"] == "HrHwM"]
    [0.063, 0.049]
    """
    if p not in PROCESSORS:
        return []
    return [
        {
            "family": family,
            "p": p,
            "name": name,
            "set": label,
            "suite": suite,
            "source": f"table {ERROR_TABLES[family, suite]}",
        }
        | dict(zip(("average", "maximum"), errors[PROCESSORS.index(p)], strict=True))
        for (family, name, label, suite), errors in PAPER_ERRORS.items()
    ]
