"""One node of the LoPC model: the times of its handlers under a load, and the checks of arguments.

    requests  u = S_o * (requests a unit of time)  ─┐
                                                    ├─► FIFO of handlers, each S_o ─► the thread, if no handler is left
    replies   y = S_o * (replies a unit of time)   ─┘

By Bard's approximation, an arriving message finds the average queue. The term a = (C² - 1) / 2 corrects for the time
that the handler in service has left (section 5.2); C² is the squared coefficient of variation of the handlers' times.
R_q and R_y are the response times of a request and of a reply, Q_q and Q_y the queues of requests and of replies. In
units of S_o, the time of a handler,

    R_q = 1 + Q_q + Q_y + a (u + y)        Q_q = u R_q        Q_y = y R_y
    R_y = 1 + Q_q + a u

This is linear in R_q and R_y, so u and y alone determine both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray


@dataclass(frozen=True, eq=False)
class Handlers:
    """Response times of handlers in units of S_o, and their slopes; of one node (float) or of many (arrays).

    Attributes
    ----------
    request, reply : float or ndarray
        R_q / S_o and R_y / S_o.
    request_u, request_y : float or ndarray
        Derivatives of `request` with respect to u and y.
    reply_u, reply_y : float or ndarray
        Derivatives of `reply` with respect to u and y.
    """

    request: Any
    reply: Any
    request_u: Any
    request_y: Any
    reply_u: Any
    reply_y: Any


def handlers(u: Any, y: Any, variation: float) -> Handlers:
    """Solve equations 5.9 and 5.10 (A.7 and A.8 with the C² of section 5.2) at a given load.

    Parameters
    ----------
    u, y : float or ndarray
        Utilisations by request and by reply handlers, with ``u (1 + y) < 1``: beyond that the queue has no average.
    variation : float
        C², the squared coefficient of variation of the handlers' times.
    """
    a = (variation - 1.0) / 2.0
    free = 1.0 - u - u * y
    request = (1.0 + y + a * (u + y + u * y)) / free
    request_u = (1.0 + y) * (request + a) / free
    request_y = (1.0 + a + u * (request + a)) / free
    return Handlers(
        request=request,
        reply=1.0 + u * (request + a),
        request_u=request_u,
        request_y=request_y,
        reply_u=request + a + u * request_u,
        reply_y=u * request_y,
    )


def checked_times(**given: ArrayLike) -> Mapping[str, FloatArray]:
    """Return times and variations as float64.

    Raises
    ------
    ValueError
        A number that is negative, infinite or NaN.
    """
    made = {name: np.asarray(values, dtype=np.float64) for name, values in given.items()}
    for name, values in made.items():
        if not ((values >= 0.0) & np.isfinite(values)).all():
            raise ValueError(f"{name} must be finite and not negative, not {values.tolist()}")
    return made


def checked_scalars(**given: float) -> tuple[float, ...]:
    """Return times and variations as floats, in the order given.

    Raises
    ------
    ValueError
        A value that is negative, infinite, NaN or not a single number.
    """
    made = checked_times(**given)
    for name, value in made.items():
        if value.shape != ():
            raise ValueError(f"{name} must be one number, not an array of shape {value.shape}")
    return tuple(float(value) for value in made.values())
