"""One segment of shared memory and what lies in it: arrays, cells, the records of the threads that wait."""
