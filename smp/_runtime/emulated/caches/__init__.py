"""Caches that invalidate each other's lines, on a bus or with a directory, and what an access to a line takes."""
