"""This computer: its CPUs and limits, its processes and signals, the folder of its data.

Nothing here knows a concept of smp's own.
"""
