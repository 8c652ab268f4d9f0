"""Sorting: functions, forms on streams, SPMD programs."""
