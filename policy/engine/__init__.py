"""The connection between the policy pack and the Pulumi engine."""
