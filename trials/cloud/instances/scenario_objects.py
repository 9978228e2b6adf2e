# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Makes what tempest's scenarios need: public images of the guest, two flavors and the external network.

Runs as trial.py does, with the same arguments. Prints the values of tempest's configuration as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances.tenant import TRIAL, tenant_of


def main() -> None:
    """Deletes what an interrupted run has left, and makes everything anew."""
    *files, physical = sys.argv[1:]
    tenant = tenant_of(files)
    cloud = tenant.cloud
    tenant.remove()
    image = tenant.upload(visibility="public")
    flavor, larger = (
        cloud.compute.create_flavor(name=f"{TRIAL}-{ram}", ram=ram, vcpus=1, disk=1) for ram in (160, 192)
    )
    external = tenant.external_network(physical)
    found = {
        "image": image.id,
        "properties": ",".join(f"{key}:{getattr(image, key)}" for key in ("kernel_id", "ramdisk_id")),
        "flavor": flavor.id,
        "larger": larger.id,
        "network": external.id,
        "network_name": external.name,
        "extensions": ",".join(each.alias for each in cloud.network.extensions()),
        "disk": str(tenant.guest.disk),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
