"""The Kubernetes master tier (source 004, 5.5): masters, etcd, Calico, and the API proxy on all other nodes."""

from components.k8s_master.tier import Calico, Etcd, MasterTier, master_parts, member_parts, proxy_parts

__all__ = ["Calico", "Etcd", "MasterTier", "master_parts", "member_parts", "proxy_parts"]
