"""What runs programs.  Its packages, each of which imports those below it and no other:

exploring        all schedules of a small program, and one of them again
machine          machines, and the one place that names a kind of them
host, emulated   the kinds: processes of this computer; processors that take turns in virtual time
shared_memory    what all machines with shared memory have in common
program          what a program holds, written once over the port
memory           one segment and what lies in it: arrays, cells, the records of threads that wait
protocols        what happens on shared words: waiting, barrier, cell, stream slots
loops            compiled loops, the primitives in them, named places
source           a user's source lines in a stack
"""
