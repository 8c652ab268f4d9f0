"""Two networks carry the messages, so that replies always find room.

Freedom from deadlock.  Requests go on LEFT only, and a processor that waits for room for one polls both networks.  A
reply goes on RIGHT, or on LEFT if there is room at once, and a processor that waits for room for one polls RIGHT only.
Other messages go on either network, and a processor that waits for room for one polls both, or only RIGHT if the
message goes on RIGHT.  Hence:

    1. on RIGHT are only messages whose handlers send nothing
    2. every processor that waits polls RIGHT, and the handlers that run then end without waiting
    3. so RIGHT drains, and each reply finds room there
    4. so the handler of each request ends
    5. so LEFT drains too, since a processor polls LEFT again once it does not wait for a reply's room
    6. so each request finds room

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1.2 and Strata manual, section 6.
"""

from __future__ import annotations

import enum


class On(enum.IntFlag):
    """One of the two networks, or both: where a message goes, and where a processor polls."""

    LEFT = 1
    RIGHT = 2
    BOTH = 3


class How(enum.Enum):
    """The number of messages that a poll takes.

    ONCE takes at most one message from each network.  EMPTY goes on until all networks are empty.  FIRST_LEFT looks at
    LEFT once, and goes on until both are empty only if there was a message; FIRST_RIGHT does the same with RIGHT.
    """

    ONCE = "once"
    EMPTY = "empty"
    FIRST_LEFT = "first left"
    FIRST_RIGHT = "first right"


LEFT, RIGHT, BOTH = On.LEFT, On.RIGHT, On.BOTH
EITHER = BOTH
ONCE, EMPTY, FIRST_LEFT, FIRST_RIGHT = How
ORDER = ((), ((0,), (0,)), ((1,), (1,)), ((0, 1), (1, 0)))
"""Numbers of the networks to try, in turn: by the networks that are given, and whether RIGHT comes first."""
