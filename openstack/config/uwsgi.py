"""Settings of uWSGI, the server that runs OpenStack's APIs in Kolla's images."""

from __future__ import annotations

from openstack.config.layers import ConfigFile, Layer, Origin
from openstack.config.wiring import Wiring

_SOURCE = "https://docs.openstack.org/project-team-guide/wsgi.html"


def uwsgi(wiring: Wiring, process: str, name: str, module: str, listens: str = "api") -> ConfigFile:
    """Returns uWSGI's settings for an API. `name`: of the file; `module`: the API's WSGI module, whose application is
    `application`, or a module with the call that makes the application, such as `a.b:make()`.

    `process`: the process whose requested cores determine the number of workers. `listens`: the name of its port for
    the API. The API runs as the user of the container that reads the file, also in the images of Kolla that start as
    root.
    """
    definition = wiring.records.processes[process]
    account = next(each.user for each in definition.containers for file in each.files if file.name == name)
    options = {
        "module": module if ":" in module else f"{module}:application",
        # With http-socket the workers serve HTTP themselves; `http` would start an additional uWSGI proxy.
        "http-socket": f"0.0.0.0:{wiring.records.port(process, listens)}",
        "uid": account,
        "gid": account,
        "master": True,
        "die-on-term": True,
        "enable-threads": True,
        "lazy-apps": True,
        "need-app": True,
        "thunder-lock": True,
        "buffer-size": 65535,
        "add-header": "Connection: close",
        "hook-master-start": "unix_signal:15 gracefully_kill_them_all",
        # Seconds to complete requests in flight when a pod terminates.
        "worker-reload-mercy": 25,
    }
    size = Layer(
        Origin.ARCHITECTURE,
        f"cores requested by {process} ({wiring.records.file(definition.project)})",
        {
            "uwsgi": {"processes": wiring.workers(process)},
        },
    )
    return ConfigFile(name, "ini", (Layer(Origin.PROJECT, _SOURCE, {"uwsgi": options}), size))
