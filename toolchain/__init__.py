"""Installs the toolchain: the Python environment, the Pulumi engine, and the programs for proofs and tests."""
