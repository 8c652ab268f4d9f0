"""Trials: planned, run, kept, searched."""
