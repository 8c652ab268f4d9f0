"""Predictions from a measured machine: the times of programs, changes of the machine, and comparisons of machines."""
