"""Show the error when one processor raises while the others wait for it."""

import smp


def program(proc):
    with proc.superstep("divide") as step:
        step.compute()
        print(1 // proc.rank) if proc.rank == 0 else None


with smp.host(2) as machine:
    try:
        machine.run(program)
    except smp.errors.ProcessorRaised as error:
        print(str(error).replace(__file__, "failure.py"))
    print(machine.run(lambda proc: proc.rank).results, "the machine goes on")
