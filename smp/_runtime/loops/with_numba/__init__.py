"""Parts of Numba's compiler that smp replaces or adds to; they are imported together with Numba, and by nothing else."""
