"""The plan: which instance of which service may run where."""
