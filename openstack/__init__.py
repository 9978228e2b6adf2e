"""What runs of OpenStack, and with which configuration: projects, options, jobs and scripts; no Pulumi."""
