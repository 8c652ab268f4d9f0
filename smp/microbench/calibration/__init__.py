"""Calibration of the kernels' libraries: the models are measured, saved, reported and drawn."""
