"""OpenStack's services as Kubernetes workloads: data in one file for each project, objects made of it in one place."""
