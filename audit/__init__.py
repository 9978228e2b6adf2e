"""The audit: writes the verdicts of all policy rules as documents, from the event log of a Pulumi preview."""
