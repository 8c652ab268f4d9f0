"""Models of what the machine charges: numbers in, numbers out.

fit          from measurements to a model: terms as text, least squares, the choice of terms, the calibrated model
supersteps   what supersteps cost: access suites, cost functions, intervals; factored and hybrid models of programs
lopc         contention: threads that ask each other; solved, and simulated event by event
"""
