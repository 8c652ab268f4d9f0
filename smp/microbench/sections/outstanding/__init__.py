"""Loads in flight."""
