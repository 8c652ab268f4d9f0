"""Experiments of papers, repeated on emulated machines."""
