"""The primitives of the runtime, whose times ``--calibrate messages`` measures."""
