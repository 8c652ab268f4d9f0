"""The command ``smp``: a subcommand for each task, in a module that is imported only if it is called."""
