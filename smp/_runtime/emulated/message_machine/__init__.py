"""Emulated machines whose processors share no memory: sending and receiving take the processors' own time."""
