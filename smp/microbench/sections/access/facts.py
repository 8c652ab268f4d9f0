"""Names of the prices in the cost functions, and the figures that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.errors import ProfileError
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples
from smp.profiles.kept_apart import FAMILIES
from smp.profiles.profile import BEST, Profile

from .spreads import Patterns, comparable, of_price

if TYPE_CHECKING:
    from smp.profiles.access import Access

PRICES = {
    "L": "the start of a superstep's accesses",
    "gh": "a word moved",
    "ghr": "a word read",
    "ghw": "a word written",
    "gM": "a word moved by any processor",
    "gnr": "a word that a second processor reads",
    "gnw": "a word that a second processor writes",
    "gor": "a word read by the other processors",
    "gow": "a word written by the other processors",
}
WORDS = (10_000, 1_000_000)
"""Numbers h of words when whole cost functions are compared: each processor reads h words and writes h words."""


def price_name(term: str, profile: Profile) -> str:
    """Return the meaning of a term of a cost function, in words.

    Parameters
    ----------
    term : str
        Term of a function, such as "L" or "ghr2".
    profile : Profile
        Profile that names the tiers.
    """
    name = term.rstrip("0123456789")
    words = PRICES.get(name, term)
    if name == term:
        return words
    level = int(term[len(name) :])
    if profile.access.get("forms"):  # split at the knees of the data, not at the caches
        return f"{words} ({f'beyond knee {level - 1}' if level > 1 else 'up to knee 1'})"
    return f"{words} ({profile.access['tiers'][level - 1]['name']})"


def compared(found: Access, samples: Samples) -> Iterator[Figure]:
    """Yield the cost of a word in each family, and the coefficients that the measurements identify."""
    if not found.functions:
        return
    profile = Profile({"access": found.to_json()})
    for p in profile.processors:
        for family in FAMILIES:
            try:
                function = profile.function(family, p)
            except ProfileError:
                continue
            patterns = Patterns(found, samples, family, p)
            for words in WORDS:
                seconds = float(profile.predict(family, p, words, words, 2 * p * words)[0])
                what, each = f"{family}, {count(words)} words, p = {p}", seconds / (2 * words) * 1e9
                yield Figure(what, "ns/word", each, valid=patterns.valid, spread=patterns.spread(words))
            if function["name"] != BEST[family]:
                continue
            for k, (term, price) in enumerate(zip(function["terms"], function["coefficients"], strict=True)):
                if comparable(function, k):
                    unit, scale = ("us", 1e6) if term == "L" else ("ns", 1e9)
                    what = f"{family}: {price_name(term, profile)}, p = {p}"
                    yield Figure(what, unit, price * scale, valid=patterns.valid, spread=of_price(function, k))
