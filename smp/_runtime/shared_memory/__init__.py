"""The parts that all machines with shared memory have in common: port, boards, and the waits of their streams."""
