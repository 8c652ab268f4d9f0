"""Machines whose processors share a memory through caches that invalidate each other's lines."""
