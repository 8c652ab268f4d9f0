"""Programs whose processors send to each other through cells: a mesh, a ring, a congested place."""
