"""What is recorded of a program: each repeat, their medians, and what explains the times."""
