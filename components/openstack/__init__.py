"""OpenStack's services as Kubernetes workloads. Projects are defined as data; shared code builds their objects."""
