"""Atomics, hand-offs, barriers."""
