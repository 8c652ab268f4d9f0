"""Models of what the machine charges: numbers in, numbers out.

least_squares   the arithmetic: equilibrated columns, singular values, signs
linear          a linear combination of named terms, fitted on the relative error
suites          the access patterns that are measured (suites 1, 2 and 3 of the SMP paper)
cost            the cost functions H, HM, HrHw, HrHwM of h_r, h_w and M
access          their fits and validations for an access family
interval        [good prediction, bad prediction] of each superstep, Loc, M/G and a verdict
published       the errors that the SMP paper printed, to compare with
    table           numbers as aligned text
"""
