"""Virtual machines on physical servers: Fuel's reduced footprint (source 000) and its hypervisors (source 002)."""

from components.virt_host.component import VirtHost, VirtHostArgs
from components.virt_host.domain import files

__all__ = ["VirtHost", "VirtHostArgs", "files"]
