"""Sorting, set against its prediction."""
