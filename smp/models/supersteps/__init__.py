"""What supersteps cost on a machine.

suites      the access patterns that are measured (suites 1, 2 and 3 of the SMP cost study)
measured    counts and times of one suite
cost        the cost functions H, HM, HrHw, HrHwM of h_r, h_w and M, and those of what other processors do
knees       where a word begins to have another price, from the data
access      the fits and validations of the SMP cost study, for an access family
forms       all forms of function: fitted on one suite, chosen by another, their error on the third
published   what the SMP cost study printed: its functions, their errors, its supersteps
locality    Loc, M/G, inside or not, and a verdict in words
interval    all of that for each superstep and in total, as arrays and as a table
factored    a program's time from the fitted models of its machine: derivatives, impact of changes
hybrid      alpha + beta x factored + gamma x local work, calibrated with measured runs
"""
