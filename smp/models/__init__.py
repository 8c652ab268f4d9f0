"""Models of what the machine charges: numbers in, numbers out.

least_squares   the arithmetic: equilibrated columns, singular values, signs
linear          a linear combination of named terms, fitted on the relative error
stepwise        which terms a model needs: irrelevant ones are removed, one at a time
expressions     terms as text: checked, and as functions of numbers and arrays, in Python and C
inputs          the inputs of a model and their ranges
specification   what a model is to be made of: inputs, terms, task
fitting         from measured points to a model, tried on points that were kept apart
model           a calibrated model: it predicts, with an interval, and can be stored, printed and exported
optimum         the best whole number for a parameter of a model
suites          the access patterns that are measured (suites 1, 2 and 3 of the SMP paper)
measured        counts and times of one suite
cost            the cost functions H, HM, HrHw, HrHwM of h_r, h_w and M
access          their fits and validations for an access family
published       the errors that the SMP paper printed, to compare with
locality        Loc, M/G, inside or not, and a verdict in words
interval        all of that for each superstep and in total, as arrays and as a table
factored        a program's time from the fitted models of its machine: derivatives, impact of changes
hybrid          alpha + beta x factored + gamma x local work, calibrated with measured runs
lopc            contention: threads that ask each other (LoPC); solved in lopc_all_to_all, lopc_client_server,
                lopc_servers, lopc_general; lopc_setting, lopc_node, lopc_patterns, lopc_matrix_vector
lopc_simulation the same machine event by event: lopc_machine, lopc_draws, lopc_batches
"""
