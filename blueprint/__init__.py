"""What to build: settings, inventory, reference architectures and the plan. Pure Python and data, no Pulumi."""
