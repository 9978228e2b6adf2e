"""Tests of the frameworks: which controls rules evaluate."""
