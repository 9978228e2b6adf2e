"""Analyses shell text without running it: which programs it runs, on which machines, after which quorum checks."""
