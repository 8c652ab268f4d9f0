"""The measurements of the study of the Tera MTA, as programs on emulated multithreaded processors.

    latencies     figures 3 and 4: a memory access, and an instruction word
    runtime       figures 7 and 12, tables 1 to 3: retries, the start of a stream, the remapping of a stream
    waking        figures 8 and 9: many threads that wait at one word
    chains        figures 10 and 11: threads that wake one another
    loads         figure 14: loads by streams and depth of unrolling
    triad         table 4: STREAM
    list_programs, ranking   figures 18 to 20: list ranking
    polling       the load of retries on the network, and the best number of retries

The functions return numbers of the emulated machine.  What the study printed stands where they are compared.
"""
