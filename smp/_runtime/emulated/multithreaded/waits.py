"""The end of a wait at a word with a full/empty bit, computed from its beginning and from the change of the word."""

from __future__ import annotations

from .layout import TICKS
from .settings import Settings


def end_of_wait(settings: Settings, answered: int, changed: int) -> tuple[int, int]:
    """Return the cycle at which a waiting stream goes on, and the number of its retries.

    Parameters
    ----------
    settings : Settings
    answered : int
        Cycle at which the answer of the stream's first access came: the word was not as needed.
    changed : int
        Cycle at which the word has changed.

    Notes
    -----
    The stream repeats its access each time that the answer is there.  The first retry that arrives after the change
    succeeds.  If there is none within the limit, the stream has trapped.  It goes on after the trap, or when the
    runtime has seen the change and let it go on.
    """
    begin, end = answered * TICKS, changed * TICKS
    retry = 2 * settings.crossing + (settings.hot_access if settings.hot_words else settings.access)
    round_trip = 2 * settings.crossing + settings.access
    needed = 1 + max(-(-(end - begin - settings.crossing) // retry), 0)
    if needed < settings.retries:
        return _cycles(begin + (needed - 1) * retry + round_trip), needed
    trapped = begin + (settings.retries - 1) * retry + settings.trap_words * settings.trap_spacing * TICKS
    released = end + retry + settings.spacing * TICKS
    return _cycles(max(trapped + round_trip, released)), settings.retries - 1


def _cycles(ticks: int) -> int:
    return -(-ticks // TICKS)
