"""The time of a cycle by LoPC and by LogP, from the parameters of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from smp.models.lopc import client_server
from smp.profiles.contention import Contention, contention_parameters, message_parameters


class Predicted(NamedTuple):
    """The time of a cycle in seconds, without contention and with it."""

    logp: float
    lopc: float


def at_one_word(profile: Mapping[str, Any], processors: int, work: float) -> Predicted:
    """Predict the cycle of processors that work and then add to one word.

    Parameters
    ----------
    profile : mapping
        The JSON document, `Profile.data`.
    processors : int
    work : float
        Seconds of work in a cycle.

    Returns
    -------
    Predicted

    Raises
    ------
    ProfileError
        If the hand-off of a line or contended fetch-adds were not measured.

    Notes
    -----
    The word is a server of which all processors are clients, and its handlers take a constant time.  A processor that
    is alone sends no request, because the line stays in its cache: a cycle is the work and an addition.

    Examples
    --------
    >>> measured = {"handoff_exchange_ns": 160.0, "fetch_add_ns": {"alone": 5.0, "contended": {"2": 40.0}}}
    >>> for p in (1, 2):
    ...     print([round(1e9 * seconds, 1) for seconds in at_one_word({"synchronisation": measured}, p, 100e-9)])
    [105.0, 105.0]
    [260.0, 261.8]
    """
    parameters = contention_parameters(profile)
    if processors == 1:
        alone = work + profile["synchronisation"]["fetch_add_ns"]["alone"] * 1e-9
        return Predicted(alone, alone)
    return _served(parameters, processors, work)


def at_one_server(profile: Mapping[str, Any], processors: int, work: float) -> Predicted:
    """Predict the cycle of processors that work and then send a request to one more, which only serves them.

    Parameters
    ----------
    profile, work
        As for `at_one_word`.
    processors : int
        Number of all processors, the server included.

    Raises
    ------
    ProfileError
        If messages were not measured.
    """
    return _served(message_parameters(profile), processors - 1, work)


def _served(parameters: Contention, clients: int, work: float) -> Predicted:
    """Predict the cycle of clients of one server, with handlers of constant times."""
    found = client_server(work, *parameters, clients + 1, 1, variation=0.0)
    return Predicted(found.logp, float(found.response))
