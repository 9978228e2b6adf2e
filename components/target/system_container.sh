# Makes or removes a system container on this virt host. A second run changes nothing; an interrupted one is continued.
#
#   sh -s check HOST HYPERVISOR
#   sh -s make NAME HYPERVISOR IMAGE SHA256     a function `files`, written before this script, prints a tar archive in
#                                               base64: cloud-init's files in `seed`, and the machine's definition
#   sh -s remove NAME HYPERVISOR                its root file system stays
set -eu
LC_ALL=C
export LC_ALL
verb=$1
name=$2
hypervisor=$3

die() {
  echo "$name: $*" >&2
  exit 1
}

domains() { virsh --connect lxc:///system --quiet "$@"; }

unit=systemd-nspawn@$name.service
drop_in=/etc/systemd/system/$unit.d/quorate.conf
settings=/etc/systemd/nspawn/$name.nspawn
case $hypervisor in
lxc) root=/var/lib/libvirt/lxc/$name ;;
container) root=/var/lib/machines/$name ;;
*) die "'$hypervisor' is not a hypervisor of system containers" ;;
esac

check() {
  if [ "$hypervisor" = container ]; then
    command -v systemd-nspawn >/dev/null || die "systemd-nspawn is missing; install systemd-container"
  else
    command -v virsh >/dev/null || die "virsh is missing; install libvirt-clients, and libvirtd with its LXC driver"
    domains version >/dev/null || die "libvirtd does not answer at lxc:///system; install its LXC driver and start it"
  fi
}

# An unfinished root file system has another name, and is made anew.
unpack() { # image, its digest
  echo "$2  $1" | sha256sum --check --status || die "$1 is incomplete; run the same command again"
  unfinished=$(dirname -- "$root")/.$name.quorate
  rm -rf -- "$unfinished"
  mkdir -p -- "$unfinished"
  tar --extract --preserve-permissions --numeric-owner --xattrs --xattrs-include='*' --file "$1" --directory "$unfinished"
  # systemd writes another ID at the first boot, so that no two machines have the same.
  rm -f -- "$unfinished/etc/machine-id" "$unfinished/var/lib/dbus/machine-id"
  : >"$unfinished/etc/machine-id"
  seed=$unfinished/var/lib/cloud/seed/nocloud
  rm -rf -- "$seed"
  mkdir -p -- "$(dirname -- "$seed")"
  mv -- "$given/seed" "$seed"
  mv -- "$unfinished" "$root"
}

# systemd applies changed limits to a container that runs. Memory below what its processes have would kill some of them.
require_memory() {
  group=$(systemctl show --property=ControlGroup --value "$unit")
  [ -n "$group" ] || return 0
  wanted=$(sed -n 's/^MemoryMax=\([0-9]*\)G$/\1/p' "$given/service.conf")
  # The group's own statistics contain files that the kernel would drop.
  used=$(
    grep --files-with-matches --no-messages --fixed-strings ":$group/" /proc/[0-9]*/cgroup | sed 's/cgroup$/status/' |
      xargs -r cat 2>/dev/null | awk '/^RssAnon:/ { used += $2 } END { print int(used / 1024) }'
  )
  [ "$used" -lt $((wanted * 1024)) ] || die "its processes have $used MiB of memory; write more than ram: $wanted"
}

start_container() {
  require_memory
  for pair in "container.nspawn $settings" "service.conf $drop_in"; do
    install -D -m 0644 -- "$given/${pair%% *}" "${pair#* }"
  done
  systemctl daemon-reload
  systemctl enable --quiet machines.target  # starts its containers with the host
  systemctl enable --quiet --now "$unit"
}

# Later changes of a domain are those of another resource, which checks the quorum.
start_domain() {
  domains dominfo "$name" >/dev/null 2>&1 || domains define "$given/domain.xml"
  domains autostart "$name"
  [ "$(domains domstate "$name")" = running ] || domains start "$name"
}

make() { # image, its digest
  given=$(mktemp -d /run/quorate-machine.XXXXXX)
  trap 'rm -rf -- "$given"' EXIT
  trap 'exit 1' HUP INT TERM
  files | base64 -d | tar --extract --no-same-owner --directory "$given"
  [ -d "$root" ] || unpack "$@"
  "start_$([ "$hypervisor" = lxc ] && echo domain || echo container)"
}

remove() {
  if [ "$hypervisor" = container ]; then
    systemctl disable --quiet --now "$unit"
    rm -f -- "$settings" "$drop_in"
    rmdir -- "$(dirname -- "$drop_in")" 2>/dev/null || true
    systemctl daemon-reload
  elif domains dominfo "$name" >/dev/null 2>&1; then
    domains shutdown "$name" || true
    end=$(($(date +%s) + 180))
    while [ "$(domains domstate "$name")" = running ] && [ "$(date +%s)" -lt "$end" ]; do sleep 2; done
    [ "$(domains domstate "$name")" != running ] || domains destroy "$name"
    domains undefine "$name"
  fi
}

shift 3
"$verb" "$@"
