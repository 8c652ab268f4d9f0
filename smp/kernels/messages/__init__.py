"""Programs whose processors send data to each other: a mesh, a ring, and a network that congests."""
