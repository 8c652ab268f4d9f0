"""Streams in the order of virtual time: which of them goes next, in machine code that Python and loops call."""
