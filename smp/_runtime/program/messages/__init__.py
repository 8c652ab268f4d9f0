"""Messages: a processor sends words to another one, which runs a function on them when it polls."""
