"""Installs the toolchain: the Python environment, the engine, and the programs of the proof and the tests."""
