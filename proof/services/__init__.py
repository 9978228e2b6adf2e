"""Real programs with the rendered configuration, failures of theirs, and a check of every acknowledged write."""
