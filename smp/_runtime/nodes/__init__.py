"""A machine of several nodes: its processors hold the arrays in parts, and send messages to each other."""
