"""Global arrays, and the segment of shared memory that holds arrays, cells and the records of waiting threads."""
