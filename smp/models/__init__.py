"""Models of what the machine charges: numbers in, numbers out.

least_squares   the arithmetic: equilibrated columns, singular values, signs
linear          a linear combination of named terms, fitted on the relative error
suites          the access patterns that are measured (suites 1, 2 and 3 of the SMP paper)
measured        counts and times of one suite
cost            the cost functions H, HM, HrHw, HrHwM of h_r, h_w and M
access          their fits and validations for an access family
published       the errors that the SMP paper printed, to compare with
locality        Loc, M/G, inside or not, and a verdict in words
interval        all of that for each superstep and in total, as arrays and as a table
table           numbers as aligned text
"""
