"""Reads HTML: its elements with their attributes, the text of some of them, and the file in a page of a report."""

from __future__ import annotations

import base64
import gzip
import re
from collections import Counter
from html.parser import HTMLParser


class Markup(HTMLParser):
    """The tags, attributes and texts of a document.

    Attributes
    ----------
    tags : Counter
        Number of elements of each kind.
    attributes : list of tuple of str
        Tag, name and value of each attribute.
    texts : dict of str to list of str
        Text of each element of a kind, without the text of elements that begin in it.
    """

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.texts.setdefault(tag, []).append("")
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open][-1] += data

    def values(self, tag: str, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [value for one, attribute, value in self.attributes if (one, attribute) == (tag, name)]


def file_in(page: str) -> bytes:
    """Return the bytes of the file that a page lets its reader save."""
    packed = re.search(r'href="data:application/gzip;base64,([^"]*)"', page)
    assert packed is not None
    return gzip.decompress(base64.b64decode(packed[1]))
