"""Parts of Numba's compiler that smp replaces or adds to; only what imports Numba imports them."""
