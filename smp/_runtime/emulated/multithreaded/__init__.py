"""Processors that run many threads in hardware, cycle by cycle, as those of the Tera MTA.

Programs of instruction words, for measurements of the hardware:

    program        instruction words of streams, and how a program is written
    emulation      a run of such a program, as Python sees it
    experiments    the measurements of the study of the Tera MTA

Programs of `smp.emulated`, whose steps take what instruction words would take:

    parts          the machine, made from its file
    shared_words   prices of steps, of operations on cells, and of local work
    accesses, waits    one access; the end of a wait

The machine:

    settings       the numbers of a machine file, as the compiled core takes them
    state, lists   arrays of the core, and the queues in them
    background     streams of the runtime that are always ready
    places         the module and the bank that hold a word
    memory         network, modules, caches of hot spots, full/empty bits
    trapped        words that waiting threads have left to the runtime
    traps          how a thread leaves its stream, and how it gets one again
    issuing        one instruction word of a stream
    cycles         the clock: which events come next
"""
