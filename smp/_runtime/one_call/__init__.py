"""Programs in one call, which opens a machine and closes it: `run` for a program, `map` for a function of items.

chunks        items as bytes: cut into pieces that become smaller towards the end
taking        the program of `map`: each processor takes the next piece until none is left
watching      progress of a long `map` on a terminal
"""
