"""Results that the SMP cost study printed for an SGI Power Challenge, for predictions and comparisons.

coefficients   tables 1 to 4: the cost functions
errors         tables 5 to 8: their errors on the suites that they were not fitted on
supersteps     tables 9 to 11: Loc and M/G of the supersteps of three sorting programs
"""

from .coefficients import CACHE_WORDS, PROCESSORS, WORD_BYTES, paper_functions
from .errors import ERROR_TABLES, PAPER_ERRORS, paper_errors
from .supersteps import PAPER_STEPS, PaperStep, closest_p, paper_lengths

__all__ = [
    "CACHE_WORDS",
    "ERROR_TABLES",
    "PAPER_ERRORS",
    "PAPER_STEPS",
    "PROCESSORS",
    "WORD_BYTES",
    "PaperStep",
    "closest_p",
    "paper_errors",
    "paper_functions",
    "paper_lengths",
]
