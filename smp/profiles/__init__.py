"""Profiles: the measurements of a machine as a file, and the times that they predict.

Profile                  reads a profile, finds the last one of this computer, predicts
ProfileWarning           a profile that is usable, with a caveat
charged                  the factored model of a program's supersteps on the machine of a profile
ThisComputer             this computer with any number of processors, for `smp.emulated`
published_machine        the profile of a machine whose cost functions were published: the SGI Power Challenge
contention_parameters    the parameters of the contention model (LoPC) from a profile, for shared words
message_parameters       the same for requests by messages
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._computer.lazy import handed_on

if TYPE_CHECKING:
    from .charges import charged
    from .contention import contention_parameters, message_parameters
    from .profile import Profile, ProfileWarning
    from .published import published_machine
    from .this_computer import ThisComputer

__all__ = [
    "Profile",
    "ProfileWarning",
    "ThisComputer",
    "charged",
    "contention_parameters",
    "message_parameters",
    "published_machine",
]

__getattr__ = handed_on(
    __name__,
    {
        "Profile": ".profile",
        "ProfileWarning": ".profile",
        "ThisComputer": ".this_computer",
        "charged": ".charges",
        "contention_parameters": ".contention",
        "message_parameters": ".contention",
        "published_machine": ".published",
    },
)
