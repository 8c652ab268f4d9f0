"""What is imported together with Numba, and by nothing else: parts of its compiler that smp replaces or adds to."""
