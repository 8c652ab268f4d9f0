"""Columns of the arrays of the core, and the codes in them.

The columns of a thread continue with a counter for each of the next `WINDOW` words: how many memory operations must
end before that word.
"""

from __future__ import annotations

TICKS = 1_000  # per cycle: times inside the memory are finer than cycles
WINDOW = 8  # words from which on a memory operation must have ended: the lookahead is 0 to 7
REGISTERS = 32  # of a thread; register 0 is always 0

# Instruction words.
MEMORY, REGISTER, BASE, INDEX, OFFSET, LOOKAHEAD = range(6)
ARITHMETIC, RESULT, LEFT, RIGHT, PLUS = range(6, 11)
CONTROL, ONE, OTHER, TARGET, INTO = range(11, 16)
WORD = 16

NOTHING = 0  # no operation in this part of a word
STORE, LOAD, FETCH_ADD, READFF, READFE, WRITEEF, WRITEXF, PURGE, KEEP = range(1, 10)
"""Operations on memory. Those up to FETCH_ADD look at no full/empty bit; those from LOAD to READFE write a register.
KEEP is an access by the runtime to the state of a thread."""
ADD, SUBTRACT, MULTIPLY = range(1, 4)
JUMP, IF_EQUAL, IF_UNEQUAL, IF_LESS, COUNT_DOWN, SPAWN, CREATE, QUIT, CLOCK, RETRIES, ADD_TOO = range(1, 12)

# Threads.
PROCESSOR, PC, SEQUENCE, OUTSTANDING, MODE, BLOCKED, ISSUED, LEFT_OVER, OPERATION = range(9)
WAITS, AT, KIND_WAITED, VALUE_WAITED, INTO_WAITED, ORDER, RELEASER, SAVED = range(9, 17)
PENDING = 17
THREAD = PENDING + WINDOW

UNUSED, RUNNING, CREATED, TRAPPING, SAVING, PARKING, PARKED, UNMAPPED, RESTORING, SERVING, RELEASING = range(11)
"""Modes of a thread; see ``traps``."""
QUEUED, SERVED = 1, 2  # of WAITS: in the queue of a trapped word; its operation was done

# Memory operations.
KIND, OWNER, INTO_REGISTER, ADDRESS, VALUE, SLOT, TRIES, OUTCOME, PLAIN, RUNTIME, MODULE, BANK = range(12)
OPERATION_COLUMNS = 12
DONE, AGAIN, TRAPPED_WORD, FORWARDED, LEFT_IN_QUEUE = range(5)  # outcomes
SERVE, PARK = 1, 2  # of RUNTIME: the runtime's access to a trapped word

EMPTY, TRAPPED = 1, 2  # bits of a tag

# Processors.
READY_FIRST, READY_LAST, PORT_FIRST, PORT_LAST, WAITING_FIRST, WAITING_LAST = range(6)
PORT_FREE, MAPPED, STREAMS, NEXT_BACKGROUND, BACKGROUND_SEEN, READY_COUNT = range(6, 12)
PROCESSOR_COLUMNS = 12
WORDS_ISSUED, BACKGROUND_ISSUED, WORDS_SENT, RETRIED, TRAPS, HANDLED, REMAPS, OPERATIONS_DONE, HELD_UP = range(
    9
)  # totals
TOTALS = 9

# Words of memory.
CONTENT, TAG, CACHED = range(3)  # the value; bits EMPTY and TRAPPED; the slot of the cache of hot spots, or NONE
MEMORY_COLUMNS = 3

# Slots of the caches of hot spots, and the caches.
HOLDS, NEWER, OLDER, SETTLED, BEFORE = range(5)  # BEFORE: the tag that is seen until the tick SETTLED
SLOT_COLUMNS = 5
NEWEST, OLDEST, USED = range(3)
ENDS = 3

# Counters.
NOW, LIVE, READY, IN_PORTS, FREE, STATUS, THREADS, ORDERS, CULPRIT, LOGGED, ENDED_THREADS = range(11)
COUNTERS = 11
GOES_ON, ENDED, STUCK, BAD_ADDRESS, NO_STREAM, NO_ROOM = range(6)  # of STATUS
LOG = 3  # columns: cycle, thread, mode
NONE = -1
