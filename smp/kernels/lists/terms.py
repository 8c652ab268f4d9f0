"""Terms of the models of list ranking: of n, width, and how far the links go (see `sampling`)."""

SIZES = ["n", "n * width", *(f"max(0, n * width - {1 << doublings})" for doublings in (20, 25))]
"""Beyond about the first 2^20 bytes, the nearer caches hold no list; beyond 2^25, memory comes from the system anew."""


def tiers(*spans: int) -> list[str]:
    """Terms of the far links: their latency grows with the span, at another rate between any two of these."""
    ends = [f"min(span, {upper})" for upper in spans[1:]] + ["span"]
    return [f"n * far * max(0, {end} - {lower})" for lower, end in zip(spans, ends, strict=True)]


WAITS = [*tiers(12, 18, 20, 22), f"far * max(0, n * width - {1 << 20})"]
"""Of one cursor; a window that is shuffled within must be read into the nearer caches first."""
MISSES = ["n * far", f"far * min(n, {1 << 19})", *tiers(18, 20, 22)]
"""Of many cursors, which wait together: for a short list also because parts of it lie in another CPU's cache."""
MISSES_SHARED = ["n * far", "n * far * max(0, min(span, 22) - 18)"]
"""Of the cursors of a program, whose walk is a smaller part of the whole."""
ROUNDS = ["ceil(log2(n))", "n * ceil(log2(n))", "n * ceil(log2(n)) * far", "n * log2(n) * far * max(0, span - 17)"]
