"""Shows the record of a run: as text, in pictures, as a page, and as a file for viewers of traces."""
