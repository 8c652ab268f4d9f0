"""Contention on this computer, measured and as LoPC predicts it: processors at one word, and clients of one server.

measured     what is measured, round by round, and `measure_contention`
programs     the programs of the processors; loops: their compiled loops
predicted    the times by LoPC and by LogP, from the parameters of a profile
rows         the result, and its table
"""
