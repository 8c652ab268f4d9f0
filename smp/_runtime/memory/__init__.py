"""Global arrays; one segment of shared memory and what lies in it: arrays, cells, the records of waiting threads."""
