"""The host machine, whose processors are processes of this computer."""
