"""Experiments as files, and the layout of these."""
