"""Models that predict times on a machine from measured numbers.

fit          calibration: terms as text, least squares, the choice of terms, the calibrated model
supersteps   cost of supersteps: access suites, cost functions, intervals; factored and hybrid models of programs
lopc         contention between threads that send requests to each other: solved, and simulated event by event
"""
