"""Loops that count their operations while they compute: the price of local work on an emulated machine."""
