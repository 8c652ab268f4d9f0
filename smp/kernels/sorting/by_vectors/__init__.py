"""Sorting in place with vector instructions, on CPUs that have them."""
