"""The protocols on shared words: waiting, the barrier, the cell and the slots of streams; and their machine code."""
