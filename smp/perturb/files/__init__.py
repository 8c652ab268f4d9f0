"""Experiments as files, and the layouts of these files."""
