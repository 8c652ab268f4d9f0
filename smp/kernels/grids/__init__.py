"""Relaxation of grids: functions, forms on streams, SPMD programs and their layouts."""
