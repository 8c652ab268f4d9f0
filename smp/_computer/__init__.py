"""This computer: its CPUs and limits, its processes and signals, and the folder of its data.

Nothing in this package depends on smp's own concepts.
"""
