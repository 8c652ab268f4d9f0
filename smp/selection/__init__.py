"""Libraries of implementations, which call the one that is predicted to be the fastest.

    Library, Implementation, Parameter    define the implementations to choose from
    Guard                                 size from which a choice pays
    calibrate                             measures implementations and fits a model to each
    crossovers                            finds the sizes at which another implementation becomes the fastest
    plot_parameter                        draws how the time depends on the parameter of an implementation
    plot_errors                           draws where predictions and choices are wrong
    try_library, try_parameter            measure how often a choice is right

Calibrated models are kept in the user's data folder, where later programs find them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._computer.lazy import handed_on

if TYPE_CHECKING:
    from .best_values import plot_parameter
    from .calibration import calibrate
    from .crossing import crossovers
    from .error_map_figure import plot_errors
    from .implementation import Guard, Implementation, Parameter
    from .library import Library
    from .neighbours import try_parameter
    from .trial import try_library

__all__ = [
    "Guard",
    "Implementation",
    "Library",
    "Parameter",
    "calibrate",
    "crossovers",
    "plot_errors",
    "plot_parameter",
    "try_library",
    "try_parameter",
]

__getattr__ = handed_on(
    __name__,
    {
        "Guard": ".implementation",
        "Implementation": ".implementation",
        "Library": ".library",
        "Parameter": ".implementation",
        "calibrate": ".calibration",
        "crossovers": ".crossing",
        "plot_errors": ".error_map_figure",
        "plot_parameter": ".best_values",
        "try_library": ".trial",
        "try_parameter": ".neighbours",
    },
)
