"""What a program holds, written once over the port; its answers, and what can fail in its run."""
