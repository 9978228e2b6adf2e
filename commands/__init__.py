"""The commands that users and make targets run."""
