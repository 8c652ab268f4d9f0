"""What a program holds, written once over the port: the processor, supersteps, collectives, streams, the run."""
