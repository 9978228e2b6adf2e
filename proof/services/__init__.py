"""Real programs with the rendered configuration: members as chroots with a network of their own, failures, a checker."""
