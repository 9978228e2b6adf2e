"""The policy pack: it evaluates all resources, including hand-written ones, and never reads the plan."""
