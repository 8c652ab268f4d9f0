"""Terms of the models of list ranking, from n, the width of a node, and how far the links go (see `sampling`)."""

SIZES = ["n", "n * width", *(f"max(0, n * width - {1 << doublings})" for doublings in (20, 25))]
"""Beyond about 2^20 bytes, a list does not fit into the nearer caches; beyond 2^25, each array is new memory from the
system."""


def tiers(*spans: int) -> list[str]:
    """Return terms for the far links, whose latency grows with the span, at a different rate in each tier."""
    ends = [f"min(span, {upper})" for upper in spans[1:]] + ["span"]
    return [f"n * far * max(0, {end} - {lower})" for lower, end in zip(spans, ends, strict=True)]


WAITS = [
    *tiers(12, 18, 20, 22),
    "n * far * min(1, max(0, span - 12))",
    *(f"far * max(0, n * width - {1 << doublings})" for doublings in (20, 23)),
]
"""Terms for one cursor. A window that does not fit the nearest cache takes longer at once; and in a list that does not
fit the larger ones, a window whose nodes are shuffled must first be read into the nearer caches."""
MISSES = ["n * far", f"far * min(n, {1 << 19})", *tiers(18, 20, 22)]
"""Terms for many cursors, which wait together; on a short list also because parts of it lie in another CPU's cache."""
MISSES_SHARED = ["n * far", "n * far * max(0, min(span, 22) - 18)"]
"""Terms for the cursors of an SPMD program, whose walk is a smaller part of the whole."""
ROUNDS = ["ceil(log2(n))", "n * ceil(log2(n))", "n * ceil(log2(n)) * far", "n * log2(n) * far * max(0, span - 17)"]
