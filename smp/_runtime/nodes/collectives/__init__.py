"""Collectives on several nodes: processors meet in the memory of their node, and nodes exchange messages."""
