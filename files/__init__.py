"""Reads YAML and text files, writes files atomically, and quotes text for output."""
