"""Compiled loops: the door to the compiler, the primitives and their instructions, named places."""
