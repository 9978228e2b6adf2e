"""Settings of uWSGI, which serves every OpenStack API as Kolla's images do."""

from __future__ import annotations

from components.openstack.config.layers import ConfigFile, Layer, Level
from components.openstack.config.wiring import Wiring

_SOURCE = "https://docs.openstack.org/project-team-guide/wsgi.html"


def uwsgi(wiring: Wiring, process: str, name: str, module: str, port: int) -> ConfigFile:
    """Returns the settings of an API. `module` is its WSGI module, `process` the one whose size it follows."""
    options = {
        "module": f"{module}:application",
        # http-socket serves HTTP in the workers themselves; `http` would start a proxy of uWSGI's in front.
        "http-socket": f"0.0.0.0:{port}",
        "master": True,
        "die-on-term": True,
        "enable-threads": True,
        "lazy-apps": True,
        "need-app": True,
        "thunder-lock": True,
        "buffer-size": 65535,
        "add-header": "Connection: close",
        "hook-master-start": "unix_signal:15 gracefully_kill_them_all",
        # Seconds for requests in flight when a pod is told to stop.
        "worker-reload-mercy": 25,
    }
    size = Layer(
        Level.ARCHITECTURE,
        f"cores requested by {process} (blueprint/plan/sizing.yaml)",
        {
            "uwsgi": {"processes": wiring.workers(process)},
        },
    )
    return ConfigFile(name, "ini", (Layer(Level.PROJECT, _SOURCE, {"uwsgi": options}), size))
