"""Helpers that read YAML and text files, write files atomically, and quote text for output."""
