"""Where pods may run, and what the loss of a server takes in the worst case."""
