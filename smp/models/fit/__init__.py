"""Fitting of models to measurements.

least_squares   the arithmetic: equilibrated columns, singular values, signs
linear          a linear combination of named terms, fitted on the relative error
robust          points whose timings are all slow, which are left out
stepwise        the choice of terms: irrelevant ones are removed, one at a time
expressions     terms as text: checked, and turned into functions of numbers and arrays, in Python and C
inputs          the inputs of a model and their ranges
specification   the parts that a model is made from: inputs, terms, task
fitting         from measured points to a model, verified on points that were kept apart
model           a calibrated model: it predicts, with an interval, and can be stored, printed and exported
records         the parts of a model: quality, samples, points left out
layout          the JSON of a model
optimum         the best whole number for a parameter of a model
"""
