"""Connects the policy pack to the Pulumi engine: receives resources, reports findings, records verdicts."""
