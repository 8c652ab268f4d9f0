"""Trials of an experiment: planned, run, saved, searched."""
