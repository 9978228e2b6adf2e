"""Trials of real services: programs run with rendered configuration and fail, and acknowledged writes are checked."""
