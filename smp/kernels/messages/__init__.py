"""Programs whose processors send data to each other: a mesh and a ring."""
