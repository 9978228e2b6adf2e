"""OpenStack's services as Kubernetes workloads: projects are defined as data, from which shared code builds objects."""
