"""Models of the cost of supersteps on a machine.

suites      the access patterns that are measured (suites 1, 2 and 3 of the SMP cost study)
measured    counts and times of one suite
cost        the cost functions H, HM, HrHw, HrHwM of h_r, h_w and M, and those that count other processors' words
knees       the knees, found in the data: numbers of words from which a further word has another price
access      the fits and validations of the SMP cost study, for an access family
forms       all forms of function: fitted on one suite, chosen by another, their error on the third
published   results printed in the SMP cost study: its functions, their errors, its supersteps
locality    Loc, M/G, inside or not, and a verdict in words
intervals   times, Loc, M/G and verdict of each superstep and in total, as arrays and as a table
phases      times of a phase at sizes that were not measured, from its times at measured sizes
shares      shares of a program's time: accesses, barriers, runtime, computation
factored    a program's time from the fitted models of its machine: derivatives, impact of changes
hybrid      alpha + beta x factored + gamma x local work, calibrated with measured runs

h_r and h_w are the most words that any processor reads and writes in a superstep; M is the reads plus the writes of all
processors. The good prediction is the cost of a superstep whose processors access consecutive words of their own, and
the bad one that of a superstep whose processors access words of the same cache lines. Loc, the degree of locality, is 1
at the good prediction and 0 at the bad one; M/G is the measured time divided by the good prediction.
"""
