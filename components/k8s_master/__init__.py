"""The Kubernetes master tier (source 004, 5.5): masters with etcd, Calico, and the API proxy on all other machines."""

from components.k8s_master.tier import Calico, Etcd, MasterTier, master_parts, proxy_parts

__all__ = ["Calico", "Etcd", "MasterTier", "master_parts", "proxy_parts"]
