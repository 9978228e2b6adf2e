"""Stacks broken in one way each, previewed by the real engine with the policy pack."""
