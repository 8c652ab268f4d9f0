"""What happens on shared words: waiting, the barrier, the cell, the slots of streams; and its machine code."""
