"""Type tokens: what the resource tree calls our things.

A token is part of every URN below it. Changing one replaces resources in every stack that exists, so they stand here
alone; policies name them from here as well. Pulumi's guideline for their form is `package:module:Name`.
"""

CLOUD = "quorate:index:Cloud"
PREVIOUS = "quorate:index:Previous"
VIRT_HOST = "quorate:virt:VirtHost"
MASTER_TIER = "quorate:k8s:MasterTier"
ETCD = "quorate:k8s:Etcd"
CALICO = "quorate:k8s:Calico"
OPENSTACK_SERVICE = "quorate:openstack:OpenStackService"

MACHINE = "pulumi-python:dynamic/quorate:Machine"
MACHINE_POOL = "pulumi-python:dynamic/quorate:MachinePool"
"""Dynamic resources: the engine prefixes theirs. A policy may as well go by the input `kind`."""
