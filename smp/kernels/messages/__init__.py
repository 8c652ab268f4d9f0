"""Programs whose processors send data to each other: a mesh, a ring, and the choice of a transpose's schedule."""
