"""Generators of the published fractional designs for up to eleven factors.

Source: G. E. P. Box, W. G. Hunter and J. S. Hunter, Statistics for Experimenters (1978), table 12.15. The NIST/SEMATECH
handbook, section 5.3.3.4.7, has the same. For more factors, `aberration` finds designs with as few short words as those
in the tables of J. Chen, D. X. Sun and C. F. J. Wu, International Statistical Review 61 (1993).
"""

from __future__ import annotations

PUBLISHED = {
    (3, 1): "c=ab",
    (4, 1): "d=abc",
    (5, 1): "e=abcd",
    (5, 2): "d=ab e=ac",
    (6, 1): "f=abcde",
    (6, 2): "e=abc f=bcd",
    (6, 3): "d=ab e=ac f=bc",
    (7, 1): "g=abcdef",
    (7, 2): "f=abcd g=abde",
    (7, 3): "e=abc f=bcd g=acd",
    (7, 4): "d=ab e=ac f=bc g=abc",
    (8, 1): "h=abcdefg",
    (8, 2): "g=abcd h=abef",
    (8, 3): "f=abc g=abd h=bcde",
    (8, 4): "e=bcd f=acd g=abc h=abd",
    (9, 2): "h=acdfg j=bcefg",
    (9, 3): "g=abcd h=acef j=cdef",
    (9, 4): "f=bcde g=acde h=abde j=abce",
    (9, 5): "e=abc f=bcd g=acd h=abd j=abcd",
    (10, 3): "h=abcg j=bcde k=acdf",
    (10, 4): "g=bcdf h=acdf j=abde k=abce",
    (10, 5): "f=abcd g=abce h=abde j=acde k=bcde",
    (10, 6): "e=abc f=bcd g=acd h=abd j=abcd k=ab",
    (11, 4): "h=abcg j=bcde k=acdf l=abcdefg",
    (11, 5): "g=cde h=abcd j=abf k=bdef l=adef",
    (11, 6): "f=abc g=bcd h=cde j=acd k=ade l=bde",
    (11, 7): "e=abc f=bcd g=acd h=abd j=abcd k=ab l=ac",
}
"""Generators by number of factors p and number of generators k."""
