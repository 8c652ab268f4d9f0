"""Relaxation of a grid, set against its prediction."""
