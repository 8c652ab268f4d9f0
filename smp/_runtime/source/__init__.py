"""A user's source lines: the titles of notebook cells, and the user's line at which a frame is."""
