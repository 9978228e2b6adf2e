# Prints facts about this machine: a key, a tab and a value in each line; a key may occur several times. Reads only.
# Runs in any POSIX shell. A fact that cannot be read is left out.
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH

fact() { printf '%s\t%s\n' "$1" "$2"; }
has() { command -v "$1" >/dev/null 2>&1; }
number_in() { if [ -r "$1" ]; then cat "$1"; else echo 0; fi; }
privileged() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n -- "$@"; fi
}

facts() {
  fact clock "$(date +%s)"
  fact name "$(uname -n)"
  if privileged true >/dev/null 2>&1; then fact root yes; fi
  if [ -d /run/systemd/system ]; then fact systemd yes; fi
  if has timedatectl; then fact synchronized "$(timedatectl show --property=NTPSynchronized --value 2>/dev/null)"; fi
  fact cores "$(getconf _NPROCESSORS_ONLN)"
  while read -r key value _; do
    case $key in
    MemTotal:) fact memory "$value" ;;
    MemAvailable:) fact available "$value" ;;
    esac
  done </proc/meminfo
  {
    read -r _
    while read -r name _; do fact swap "$name"; done
  } </proc/swaps
  fact cgroup "$(stat -fc %T /sys/fs/cgroup)"
  if [ -r /etc/machine-id ]; then
    read -r id </etc/machine-id
    fact machine-id "$id"
  fi
  df -Pk /var/lib | {
    read -r _
    read -r _ _ _ free _ && fact free "$free"
  }
  for unit in certificate-renewal containerd etcd etcd-backup etcd-backup-copy etcd-backup-test etcd-defragmentation kubelet; do
    if has systemctl && systemctl is-failed --quiet "$unit.service"; then fact failed "$unit.service"; fi
  done
  for program in conntrack containerd curl etcd etcdctl etcdutl kubeadm kubectl kubelet runc systemd-nspawn virsh; do
    if has "$program"; then fact program "$program"; fi
  done
  if has etcd; then fact etcd "$(etcd --version 2>/dev/null | sed -n 's/^etcd Version: //p')"; fi
  if has kubelet; then fact kubelet-version "$(kubelet --version 2>/dev/null | sed 's/.* //')"; fi
  if has kubectl; then
    fact kubectl-version "$(kubectl version --client 2>/dev/null | sed -n 's/^Client Version: //p')"
  fi
  if has kubeadm; then
    kubeadm=$(kubeadm version -o short 2>/dev/null)
    fact kubeadm-version "$kubeadm"
    # With a version, because kubeadm would ask for the newest one on the internet.
    fact sandbox-image "$(kubeadm config images list --kubernetes-version "$kubeadm" 2>/dev/null | grep '/pause:')"
  fi
  if has containerd; then
    fact containerd-version "$(containerd --version 2>/dev/null | cut -d ' ' -f 3)"
    # Without passwords of registries, which stay on the machine.
    privileged containerd config dump 2>/dev/null | grep -Ev '^ *(auth|identitytoken|password) =' | while read -r line; do fact containerd-config "$line"; done
  fi
  for name in fs.inotify.max_user_instances fs.inotify.max_user_watches net.netfilter.nf_conntrack_max; do
    file=/proc/sys/$(printf '%s' "$name" | tr . /)
    if [ -r "$file" ]; then fact sysctl "$name $(cat "$file")"; fi
  done
  if [ -r /etc/os-release ]; then
    # shellcheck source=/dev/null
    fact distribution "$(. /etc/os-release && printf '%s-%s' "${ID-}" "${VERSION_ID-}")"
  fi
  if [ -e /etc/quorate/prepare.env ]; then fact prepared yes; fi
  fact forwarding "$(number_in /proc/sys/net/ipv4/ip_forward)"
  # kubeadm gives pods the name servers of systemd-resolved, and not its own address.
  resolver=/etc/resolv.conf
  if has systemctl && systemctl is-active --quiet systemd-resolved; then resolver=/run/systemd/resolve/resolv.conf; fi
  if [ -r "$resolver" ]; then
    while read -r key value _; do
      if [ "$key" = nameserver ]; then fact nameserver "$value"; fi
    done <"$resolver"
  fi
  for module in br_netfilter nf_conntrack overlay; do
    if [ -d "/sys/module/$module" ] || privileged modprobe -n -q "$module" 2>/dev/null; then fact module "$module"; fi
  done
  if has ip; then
    ip -o -4 address show | while read -r _ interface _ address _; do fact address "$interface $address"; done
    ip -o link show | while read -r _ interface _ _ mtu _; do
      interface=${interface%:}
      fact mtu "${interface%@*} $mtu"
    done
  fi
  for bridge in /sys/class/net/*/bridge; do
    if [ -d "$bridge" ]; then
      bridge=${bridge%/bridge}
      fact bridge "${bridge##*/}"
    fi
  done
  for total in /sys/class/net/*/device/sriov_totalvfs; do
    if [ -r "$total" ]; then
      device=${total%/device/sriov_totalvfs}
      fact functions "${device##*/} $(number_in "$device/device/sriov_numvfs") $(cat "$total") $(cat "$device/operstate")"
    fi
  done
  for group in /sys/kernel/iommu_groups/*; do
    if [ -d "$group" ]; then
      fact iommu yes
      break
    fi
  done
  pages=hugepages-2048kB
  fact hugepages "$(number_in /sys/kernel/mm/hugepages/$pages/nr_hugepages) $(
    number_in /sys/kernel/mm/hugepages/$pages/free_hugepages
  )"
  for node in /sys/devices/system/node/node[0-9]*; do
    if [ -r "$node/cpulist" ]; then
      fact numa "${node##*/node} $(number_in "$node/hugepages/$pages/nr_hugepages") $(
        number_in "$node/hugepages/$pages/free_hugepages"
      ) $(cat "$node/cpulist")"
    fi
  done
  if has ss && listening=$(privileged ss -Hltnp 2>/dev/null); then
    fact ports yes
    printf '%s\n' "$listening" | while read -r line; do fact listens "$line"; done
  fi
  if has lsblk; then lsblk -dbnro TYPE,ROTA,SIZE | while read -r line; do fact disk "$line"; done; fi
  if [ -c /dev/kvm ]; then fact kvm yes; fi
  for uri in lxc:///system qemu:///system; do
    if has virsh && running=$(privileged virsh --quiet --connect "$uri" list --name 2>/dev/null </dev/null); then
      fact libvirt "$uri"
      for domain in $running; do fact domain "$domain"; done
    fi
  done
  if has machinectl; then
    for domain in $(machinectl --no-legend --no-pager list 2>/dev/null </dev/null | cut -d ' ' -f 1); do
      fact domain "$domain"
    done
  fi
  # shellcheck disable=SC2016 # the inner shell expands them, because only root may list the directories
  privileged sh -c '
    for file in /etc/etcd/pki/*.crt /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt; do
      if [ -f "$file" ]; then
        end=$(openssl x509 -noout -enddate -in "$file" 2>/dev/null)
        printf "certificate\t%s %s\n" "$file" "${end#notAfter=}"
      fi
    done
  ' 2>/dev/null
  fact end yes
}

# Commands must not read the rest of this script, which the shell gets as its standard input.
facts </dev/null
