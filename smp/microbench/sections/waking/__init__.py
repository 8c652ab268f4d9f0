"""Waking streams that wait, many at once or in a chain."""
