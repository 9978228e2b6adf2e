"""The rendered tree of a stack: its index, and files that differ from it."""
