"""The layout of machine files: their tables as dataclasses, and the values that each setting may have."""
