"""Runs Pulumi on one stack: environment, passphrase, locks, events, interrupts, and the log of a run."""
