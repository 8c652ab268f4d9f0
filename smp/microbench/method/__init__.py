"""How anything is measured: clocks, windows, visits, rounds."""
