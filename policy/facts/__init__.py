"""Facts that rules evaluate, read from the resources of a stack."""
