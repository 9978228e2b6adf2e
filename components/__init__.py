"""Pulumi components that build the plan, such as Cloud, MasterTier and Environment."""
