"""Pulumi components that create the resources of a stack's plan, such as Cloud, MasterTier and Environment."""
