"""Compiled loops: their compilation by Numba, the primitives and their machine instructions, and named places."""
