"""What all machines with shared memory have: their port, boards, and what their streams wait for."""
