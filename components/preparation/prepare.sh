#!/bin/sh
# Prepares this machine for the steps after it: what a bare distribution lacks.
#
#   prepare has-PART | set-PART
#
#   packages    what the distribution has: containerd, chrony and others, by the programs that they bring
#   authorities the certificates of the site's own authorities
#   programs    kubelet, kubeadm and kubectl of the stack's version; etcd, etcdctl and etcdutl beside a member
#   kernel      modules and sysctls
#   swap        no swap, now and at the next start
#   clock       chrony runs, with the stack's time servers if it names any
#   containerd  containerd runs
#
# has-PART succeeds if nothing is left to do, and changes nothing. The stack's values are beside prepare.env.
set -eu
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${PATH:+:$PATH}
DEBIAN_FRONTEND=noninteractive
export LC_ALL PATH DEBIAN_FRONTEND
: "${ROOT=}"

HERE=$ROOT/etc/quorate
SYSCTLS=$ROOT/etc/sysctl.d/90-quorate.conf
MODULES=$ROOT/etc/modules-load.d/quorate.conf
FSTAB=$ROOT/etc/fstab
MEMBERS=$ROOT/usr/local/lib/quorate/members
BIN=$ROOT/usr/bin
TRUSTED=$ROOT/usr/local/share/ca-certificates
BUNDLE=$ROOT/etc/ssl/certs/ca-certificates.crt
LOCKED=600 # seconds to wait for another apt, such as that of unattended upgrades. Project figure

# shellcheck source=/dev/null
. "$HERE/prepare.env"

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Sets CLOCK, CLOCK_FILE and PACKAGES (package:program) of this machine's distribution.
find_distribution() {
  # shellcheck source=/dev/null
  found=$(. "$ROOT/etc/os-release" && printf '%s-%s' "${ID-}" "${VERSION_ID-}")
  row=$(awk -v name="$found" '$1 == name { print; exit }' "$HERE/distributions")
  if [ -z "$row" ]; then
    known=$(cut -d ' ' -f 1 "$HERE/distributions" | tr '\n' ' ')
    die "this machine has $found; quorate:prepare knows ${known}only: prepare it by hand, and write prepare: none"
  fi
  # shellcheck disable=SC2086 # words of a row
  set -- $row
  CLOCK=$2
  CLOCK_FILE=$ROOT$3
  shift 3
  PACKAGES=$*
}

apt() { apt-get -qq -o APT::Update::Error-Mode=any -o Dpkg::Options::=--force-confold -o "DPkg::Lock::Timeout=$LOCKED" "$@" </dev/null >&2; }

missing_packages() {
  for each in $PACKAGES; do
    has "${each#*:}" || printf '%s ' "${each%%:*}"
  done
}

has_packages() {
  find_distribution
  [ -z "$(missing_packages)" ]
}

set_packages() {
  find_distribution
  # The mirror of the distribution may have a certificate of the site.
  if has update-ca-certificates && ! has_authorities; then set_authorities; fi
  apt update
  # shellcheck disable=SC2046 # one word for each package
  apt install --yes --no-install-recommends $(missing_packages)
}

# Certificates that the stack no longer has are not trusted any more.
has_authorities() {
  for each in "$HERE"/authorities/*.crt; do
    [ -f "$each" ] || continue
    cmp -s "$each" "$TRUSTED/quorate-${each##*/}" || return 1
    grep -qxF "$(sed -n 2p "$each")" "$BUNDLE" || return 1
  done
  for each in "$TRUSTED"/quorate-*.crt; do
    [ ! -f "$each" ] || [ -f "$HERE/authorities/${each##*/quorate-}" ] || return 1
  done
}

set_authorities() {
  mkdir -p "$TRUSTED"
  rm -f "$TRUSTED"/quorate-*.crt
  for each in "$HERE"/authorities/*.crt; do
    [ ! -f "$each" ] || install -m 0644 "$each" "$TRUSTED/quorate-${each##*/}"
  done
  update-ca-certificates >/dev/null
  # containerd reads the system's certificates when it starts.
  if systemctl is-active --quiet containerd.service; then systemctl restart containerd.service; fi
}

version() { # program
  case $1 in
  kubelet) kubelet --version | sed 's/.* v//' ;;
  kubeadm) kubeadm version --output=short | sed 's/^v//' ;;
  kubectl) kubectl version --client | sed -n 's/^Client Version: v//p' ;;
  esac 2>/dev/null
}

# Programs of a node that has joined are changed by an upgrade of the cluster only.
missing_programs() {
  [ ! -f "$ROOT/etc/kubernetes/kubelet.conf" ] || return 0
  for each in $PROGRAMS; do
    { has "$each" && [ "$(version "$each")" = "$KUBERNETES" ]; } || printf '%s ' "$each"
  done
}

lacks_plugins() { [ -n "$PLUGINS" ] && [ ! -x "$ROOT$PLUGINS/loopback" ]; }

# Of a member with data, its own steps decide: it must not run another version after its next restart.
lacks_etcd() {
  [ -n "$HAS_MEMBER" ] && [ ! -d "$ROOT/var/lib/etcd/member" ] || return 1
  ! { has etcdctl && has etcdutl && sh "$MEMBERS" has-version >/dev/null 2>&1; }
}

has_programs() { [ -z "$(missing_programs)" ] && ! lacks_etcd && ! lacks_plugins; }

set_programs() {
  WORK=$(mktemp -d "$ROOT/var/tmp/quorate-prepare.XXXXXX")
  trap 'rm -rf -- "$WORK"' EXIT
  trap 'exit 1' HUP INT TERM
  missing=$(missing_programs)
  if [ -n "$missing" ] && [ -n "$REPOSITORY" ]; then
    # shellcheck disable=SC2086 # one word for each program
    add_packages_of_kubernetes $missing
  else
    for each in $missing; do add_archive "$each" "$each"; done
  fi
  if lacks_plugins; then add_plugins; fi
  if lacks_etcd; then
    name=etcd
    awk '$1 == "etcd" { found = 1 } END { exit !found }' "$HERE/archives" || name=etcd-$(uname -m)
    add_archive "$name" etcd etcdctl etcdutl
  fi
  case " $PROGRAMS " in
  *" kubelet "*) systemctl enable --quiet kubelet.service ;;
  esac
}

add_packages_of_kubernetes() { # programs
  keys=$ROOT/etc/apt/keyrings
  mkdir -p "$keys"
  download "$REPOSITORY/Release.key" "$WORK/key"
  install -m 0644 "$WORK/key" "$keys/quorate-kubernetes.asc"
  echo "deb [signed-by=$keys/quorate-kubernetes.asc] $REPOSITORY/ /" >"$ROOT/etc/apt/sources.list.d/quorate-kubernetes.list"
  apt update
  wanted=
  for each; do wanted="$wanted $each=$KUBERNETES-*"; done
  # shellcheck disable=SC2086 # one word for each package
  apt install --yes --no-install-recommends --allow-downgrades --allow-change-held-packages $wanted
  apt-mark hold "$@" >/dev/null
}

download() { # URL file
  url=$1
  set -- --fail --silent --show-error --location --retry 3 --output "$2" "$1"
  [ -z "$PROXY" ] || set -- --proxy "$PROXY" --noproxy "$DIRECT" "$@"
  curl "$@" || die "$url cannot be downloaded; see the message above"
}

# Sets ARCHIVE, the downloaded file, and URL.
fetch() { # name
  row=$(awk -v name="$1" '$1 == name { print; exit }' "$HERE/archives")
  [ -n "$row" ] || die "no archive of $1 is known for this machine; write quorate:prepare.archives.${1%%-*}"
  # shellcheck disable=SC2086 # name, digest and URL
  set -- $row
  URL=$3
  ARCHIVE=$WORK/$1
  download "$URL" "$ARCHIVE"
  found=$(sha256sum "$ARCHIVE" | cut -d ' ' -f 1)
  [ "$found" = "$2" ] || die "$URL has the SHA-256 digest $found; quorate:prepare expects $2. Nothing of it was installed"
}

add_archive() { # name, programs in it
  fetch "$1"
  shift
  case $URL in
  *.tar.gz | *.tgz)
    mkdir "$WORK/tree"
    tar -xzf "$ARCHIVE" --no-same-owner -C "$WORK/tree"
    for program; do
      found=$(find "$WORK/tree" -type f -name "$program" | head -n 1)
      [ -n "$found" ] || die "$URL has no program $program"
      put "$found" "$program"
    done
    rm -rf "$WORK/tree"
    ;;
  *) put "$ARCHIVE" "$1" ;;
  esac
  rm -f "$ARCHIVE"
}

put() { # file, program: replaced as a whole, also while it runs
  install -m 0755 "$1" "$BIN/.$2.quorate"
  mv -f "$BIN/.$2.quorate" "$BIN/$2"
}

add_plugins() {
  fetch cni
  mkdir -p "$ROOT$PLUGINS"
  tar -xzf "$ARCHIVE" --no-same-owner -C "$ROOT$PLUGINS"
  ! lacks_plugins || die "$URL has no program loopback at its top"
}

has_module() { # a module may be part of the kernel
  [ -d "$ROOT/sys/module/$1" ] || grep -q "/$1\.ko" "$ROOT/lib/modules/$(uname -r)/modules.builtin" 2>/dev/null
}

has_kernel() {
  while read -r module; do has_module "$module" || return 1; done <"$MODULES"
  while IFS='=' read -r key value; do
    [ "$(sysctl -n "$key" 2>/dev/null || echo 0)" -ge "$value" ] || return 1
  done <"$SYSCTLS"
}

set_kernel() {
  while read -r module; do
    modprobe "$module" || die "this kernel has no module $module: install the kernel's package of modules"
  done <"$MODULES"
  sysctl --quiet --load="$SYSCTLS"
}

has_swap_line() { awk '$1 !~ /^#/ && $3 == "swap" { found = 1 } END { exit !found }' "$FSTAB"; }

has_no_swap() {
  [ "$(wc -l <"$ROOT/proc/swaps")" -le 1 ] || return 1
  [ ! -f "$FSTAB" ] || ! has_swap_line
}

set_no_swap() {
  swapoff --all
  if [ -f "$FSTAB" ] && has_swap_line; then
    awk '$1 !~ /^#/ && $3 == "swap" { print "# quorate: " $0; next } { print }' "$FSTAB" >"$FSTAB.quorate"
    cat "$FSTAB.quorate" >"$FSTAB"
    rm -f "$FSTAB.quorate"
  fi
}

clock_configuration() {
  for each in $TIME_SERVERS; do echo "server $each iburst"; done
  # The clock is set at once at the start, when it is far off; chrony's and Debian's defaults.
  printf '%s\n' 'driftfile /var/lib/chrony/chrony.drift' 'makestep 1 3' rtcsync
}

has_clock() {
  find_distribution
  [ -z "$TIME_SERVERS" ] || clock_configuration | cmp -s - "$CLOCK_FILE" || return 1
  systemctl is-active --quiet "$CLOCK"
}

set_clock() {
  find_distribution
  [ -z "$TIME_SERVERS" ] || clock_configuration >"$CLOCK_FILE"
  systemctl enable --quiet "$CLOCK"
  systemctl restart "$CLOCK"
}

has_containerd() { systemctl is-active --quiet containerd.service && systemctl is-enabled --quiet containerd.service; }

set_containerd() { systemctl enable --now --quiet containerd.service; }

case ${1-} in
has-packages) has_packages ;;
set-packages) set_packages ;;
has-authorities) has_authorities ;;
set-authorities) set_authorities ;;
has-programs) has_programs ;;
set-programs) set_programs ;;
has-kernel) has_kernel ;;
set-kernel) set_kernel ;;
has-swap) has_no_swap ;;
set-swap) set_no_swap ;;
has-clock) has_clock ;;
set-clock) set_clock ;;
has-containerd) has_containerd ;;
set-containerd) set_containerd ;;
*)
  echo "usage: $0 has-PART|set-PART, with a part of packages, authorities, programs, kernel, swap, clock, containerd" >&2
  exit 2
  ;;
esac
