"""What all machines with shared memory have: their port, answers, failures, where a processor was last seen."""
