"""Analyses shell text: which programs it runs, with which arguments, on which machines, after which quorum checks."""
