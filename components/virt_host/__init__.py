"""Virtual machines on physical servers: Fuel's reduced footprint (source 000) and its hypervisors (source 002)."""

from components.virt_host.domain import DOMAIN, files
from components.virt_host.host import VirtHost, VirtHostArgs

__all__ = ["DOMAIN", "VirtHost", "VirtHostArgs", "files"]
