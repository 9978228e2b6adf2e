"""A client of the Kubernetes API: kubeconfig, requests, objects, and a cache of watched objects."""
