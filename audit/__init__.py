"""The audit: writes the verdicts of all rules as documents, from the engine's events of a preview."""
