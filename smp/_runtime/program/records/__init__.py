"""Record of a program: each repeat, the medians of several, and explanations of the times."""
