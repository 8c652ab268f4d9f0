"""The runtime, which runs programs.  Each of its packages imports only packages below it in this list.

exploring        run all schedules of a small program, or one of them again
machine          machines; the only module that names the kinds of machine
host, emulated   the kinds: processes of this computer; processors that take turns in virtual time
shared_memory    the parts that all machines with shared memory have in common
program          the objects that a program uses, written once over the port (see `program.port`)
memory           one segment and its contents: arrays, cells, the records of waiting threads
protocols        operations on shared words: waiting, barrier, cell, stream slots
loops            compiled loops, the primitives in them, named places
source           the user's source lines in a stack
"""
