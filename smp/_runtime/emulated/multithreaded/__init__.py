"""Processors that run many threads in hardware, cycle by cycle, as those of the Tera MTA.

program       instruction words of streams, and how a program is written
settings      the numbers of a machine file, as the compiled core takes them
state, lists  arrays of the core, and the queues in them
background    streams of the runtime that are always ready
memory        network, modules, caches of hot spots, full/empty bits
trapped       words that waiting threads have left to the runtime
traps         how a thread leaves its stream, and how it gets one again
issue         one instruction word of a stream
cycles        the clock: which events come next
emulation     a run of a program, as Python sees it
experiments   the measurements of the study of the Tera MTA
"""
