"""Published results of machines, and the programs that measure the same on emulated machines."""
