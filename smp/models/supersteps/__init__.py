"""What supersteps cost: access suites, cost functions, intervals; factored and hybrid models of programs."""
