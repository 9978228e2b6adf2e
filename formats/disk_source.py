"""Where a disk of a libvirt domain is: the same words for a file of the storage pool, however the domain names it.

Domains named their disks by pool and volume, and now by path. That is neither another disk nor a reason to restart.
"""

from __future__ import annotations

from xml.etree import ElementTree

from contract import LIBVIRT_DISKS, LIBVIRT_POOL


def attributes(source: ElementTree.Element) -> dict[str, str]:
    """Returns the attributes of a disk's source; pool and volume for a file in the storage pool's directory."""
    directory, _, name = source.get("file", "").rpartition("/")
    if directory == LIBVIRT_DISKS and source.attrib.keys() == {"file"}:
        return {"pool": LIBVIRT_POOL, "volume": name}
    return dict(source.attrib)


def by_volume(domain: ElementTree.Element) -> None:
    """Replaces the source of each disk that is a file of the storage pool by its pool and volume."""
    for disk in domain.iterfind("./devices/disk[@type='file']"):
        source = disk.find("source")
        if source is not None and (found := attributes(source)) != source.attrib:
            disk.set("type", "volume")
            source.attrib.clear()
            source.attrib.update(found)
