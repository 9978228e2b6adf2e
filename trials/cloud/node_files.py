"""What an installed machine has before `apply` runs: container runtime, kubelet's unit, host names, a pod network.

None of it comes from the stack's rendered files, and nothing here is a rendered file: an operator's image of an
operating system has the same, except for what a container needs in place of a virtual machine (`LAB_UNIT`).
"""

from __future__ import annotations

import json
from pathlib import Path

from trials.cloud import calico_images, cgroups
from trials.cloud.lab_machines import Lab, LabMachine

PROGRAMS = "/opt/quorate"
DEBIAN_PLUGINS, CALICO_PLUGINS = "/usr/lib/cni", "/opt/cni/bin"
"""Directories of plugins of the Container Network Interface: Debian's, and the one that Calico's manifest fills."""
UNITS = "etc/systemd/system"
EVICTION = 100
"""MiB that kubelet keeps from pods; a machine shows as much more, so that the plan's memory is allocatable."""
LINKED = ("etcd", "etcdctl", "etcdutl", "kubectl", "kubelet")
"""Programs that units and `apply` find in /usr/bin."""

# For its statistics containerd walks the writable layers of all containers, every 10 s by default: of 15 machines, a
# twentieth of a core.
_CONTAINERD = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  stats_collect_period = 60
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = {systemd}
"""
# kubeadm starts kubelet when it has written the configuration. Before, kubelet would restart without end.
_KUBELET_UNIT = """\
[Unit]
Description=kubelet
After=containerd.service quorate-lab.service
Wants=containerd.service quorate-lab.service
ConditionPathExists=/var/lib/kubelet/config.yaml
StartLimitIntervalSec=0

[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
# Statistics of each container every 10 s by default: a quarter of the CPU time that an idle kubelet takes.
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS \
--housekeeping-interval=60s
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
"""
_LAB_UNIT = """\
[Unit]
Description=What a container shows kubelet in place of a virtual machine
DefaultDependencies=no
Before=containerd.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /etc/quorate-lab/container.sh

[Install]
WantedBy=multi-user.target
"""
_CONTAINER = """\
# Makes cgroups of version 1 writable, which systemd-nspawn mounts read-only. Shows the cores and memory of the stack
# file, and sysctls that kubelet wants and a container cannot change, as set. The cores have no topology: kubelet would
# write their numbers into cpusets, and the host has fewer.
for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids; do
  [ ! -d "/sys/fs/cgroup/$hierarchy" ] || mount -o remount,bind,rw "/sys/fs/cgroup/$hierarchy" || true
done
# systemd mounts it on a machine of its own; calico-node needs it.
mount -o remount,rw /sys
mkdir -p /sys/fs/bpf
mount -t bpf bpf /sys/fs/bpf
mount -o remount,ro /sys
lab=/etc/quorate-lab
mount --bind "$lab/overcommit_memory" /proc/sys/vm/overcommit_memory
mount --bind "$lab/panic" /proc/sys/kernel/panic
mount --bind "$lab/panic_on_oops" /proc/sys/kernel/panic_on_oops
sed "s/^MemTotal:.*/MemTotal: $(cat "$lab/memory") kB/" /proc/meminfo >/run/quorate-meminfo
mount --bind /run/quorate-meminfo /proc/meminfo
mkdir -p /run/quorate-cpu /run/quorate-node
cpu=0
while [ "$cpu" -lt "$(cat "$lab/cores")" ]; do
  mkdir -p "/run/quorate-cpu/cpu$cpu"
  cpu=$((cpu + 1))
done
mount --bind /run/quorate-cpu /sys/devices/system/cpu
mount --bind /run/quorate-node /sys/devices/system/node
mount --make-rshared /
"""
_OVERLAY_UNIT = """\
[Unit]
Description=The address of the machine's tunnels
After=quorate-lab.service

[Service]
ExecStart=/bin/sh /etc/quorate-lab/overlay.sh
Restart=always

[Install]
WantedBy=multi-user.target
"""
_OVERLAY = """\
# Sets the address of this machine's tunnels on a bridge of Open vSwitch, where the userspace datapath ends tunnels.
# ovs-vswitchd makes the bridge, and makes it anew when it starts again.
set_address() {{
  ip address replace {address} dev {bridge} && ip link set {bridge} up
}}
set_address || true
ip monitor link | while read -r _ device _; do
  [ "$device" != {bridge}: ] || set_address || true
done
"""
_KUBEADM = f"""\
#!/bin/sh
# kubeadm refuses hosts with cgroup v1 and kernels whose configuration it cannot read.
case ${{1-}}/${{2-}} in
init/phase) exec {PROGRAMS}/control/kubeadm "$@" ;;
init/* | join/*) exec {PROGRAMS}/control/kubeadm "$@" --ignore-preflight-errors=SystemVerification ;;
*) exec {PROGRAMS}/control/kubeadm "$@" ;;
esac
"""
# Images are imported, not pulled: one that kubelet deletes to free the disk, which all machines share, is lost.
_KUBELET_PATCH = f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failSwapOn: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {{memory.available: {EVICTION}Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}}
"""
_CGROUP_V1_PATCH = """\
failCgroupV1: false
cgroupDriver: cgroupfs
"""
"""With cgroup v1 a container's systemd makes no cgroups in the hierarchies of controllers. With v2 kubelet and
containerd have the driver of the rendered configuration."""


def write(lab: Lab, machine: LabMachine, pause: str) -> None:
    """Writes a machine's files into its upper directory, before its first start. `pause`: the sandbox image."""
    is_v2 = cgroups.is_v2()
    files = {
        "etc/hostname": f"{machine.name}\n",
        "etc/hosts": _hosts(lab),
        "etc/resolv.conf": f"nameserver {lab.gateway}\n",
        "etc/containerd/config.toml": _CONTAINERD.format(
            pause=pause,
            plugins=CALICO_PLUGINS if lab.calico else DEBIAN_PLUGINS,
            systemd="true" if is_v2 else "false",
        ),
        **_pod_network(lab, machine),
        "etc/kubernetes/patches/kubeletconfiguration1+merge.yaml": _KUBELET_PATCH + ("" if is_v2 else _CGROUP_V1_PATCH),
        "etc/quorate-lab/container.sh": _CONTAINER,
        "etc/quorate-lab/cores": f"{machine.capacity.cpu}\n",
        "etc/quorate-lab/memory": f"{machine.capacity.memory * 1024 * 1024 + EVICTION * 1024}\n",
        "etc/quorate-lab/overcommit_memory": "1\n",
        "etc/quorate-lab/panic": "10\n",
        "etc/quorate-lab/panic_on_oops": "1\n",
        f"{UNITS}/kubelet.service": _KUBELET_UNIT,
        f"{UNITS}/quorate-lab.service": _LAB_UNIT,
        "usr/local/bin/kubeadm": _KUBEADM,
        **_tunnels(lab, machine),
    }
    upper = machine.directory / "upper"
    for path, text in files.items():
        _write(upper / path, text)
    (upper / "usr/local/bin/kubeadm").chmod(0o755)
    for name in ("kubelet", "quorate-lab", *(["quorate-overlay"] if machine.overlay else [])):
        _link(upper / f"{UNITS}/multi-user.target.wants/{name}.service", f"../{name}.service")
    _link(upper / f"{UNITS}/multi-user.target.wants/containerd.service", "/lib/systemd/system/containerd.service")
    # Debian waits for its own network by itself; the lab's is there already.
    _link(upper / f"{UNITS}/systemd-networkd-wait-online.service", "/dev/null")
    _link(upper / f"{UNITS}/multi-user.target.wants/ssh.service", "/lib/systemd/system/ssh.service")
    for name in LINKED:
        _link(upper / f"usr/bin/{name}", f"{PROGRAMS}/{'control' if name == 'etcd' else 'node'}/{name}")


def _tunnels(lab: Lab, machine: LabMachine) -> dict[str, str]:
    """Returns the unit that sets the address of the machine's tunnels; {} for a machine without one."""
    if machine.overlay is None:
        return {}
    return {
        "etc/quorate-lab/overlay.sh": _OVERLAY.format(address=machine.overlay, bridge=lab.bridge),
        f"{UNITS}/quorate-overlay.service": _OVERLAY_UNIT,
    }


def _hosts(lab: Lab) -> str:
    lines = ["127.0.0.1 localhost", *(f"{each.address} {each.name}" for each in lab.machines)]
    return "".join(f"{line}\n" for line in lines)


def _pod_network(lab: Lab, machine: LabMachine) -> dict[str, str]:
    """Returns the configuration of the pods' network. Calico writes its own, and finds that of BIRD.

    The first master also has Calico's manifest, because no machine reaches a mirror.
    """
    if lab.calico:
        bird = {calico_images.BIRD: calico_images.bird_configuration(lab, machine)}
        return bird | (calico_images.manifest_file(lab.calico) if machine == lab.masters[0] else {})
    network = {
        "cniVersion": "1.0.0",
        "name": "quorate",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(machine.pods)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
    return {"etc/cni/net.d/10-quorate.conflist": json.dumps(network, indent=1) + "\n"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
