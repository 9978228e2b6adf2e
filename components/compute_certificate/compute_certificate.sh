#!/bin/sh
# Places this compute's certificate where libvirt and QEMU in the pod of nova-libvirt look for it, and lets the libvirtd that
# runs there read it again. As clients of other computes, libvirt reads it for each connection and QEMU for each migration.
#
#   compute-certificate used|use USER
#
#   used  succeed if nothing is left to do
#   USER  the number of the user as whom QEMU runs
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"
: "${ANSWERS=60}" # seconds until libvirtd must have read it. Project figure
COMPUTE=$ROOT/etc/quorate/compute
PKI=$COMPUTE/pki # its directories are those of the same names in the pod's /etc/pki
STATE=$PKI/used  # digests of the files that libvirtd has read, or reads when it starts
QEMU=$2

# Prints where each file is read. A certificate and its key are neighbours, because files are replaced one after the other.
places() {
  cat <<END
ca.crt CA/cacert.pem
tls.crt libvirt/servercert.pem
tls.key libvirt/private/serverkey.pem
tls.crt libvirt/clientcert.pem
tls.key libvirt/private/clientkey.pem
ca.crt qemu/ca-cert.pem
tls.crt qemu/server-cert.pem
tls.key qemu/server-key.pem
tls.crt qemu/client-cert.pem
tls.key qemu/client-key.pem
END
}

digests() { (cd "$COMPUTE" && sha256sum ca.crt tls.crt tls.key); }

used() { [ -f "$STATE" ] && [ "$(cat "$STATE")" = "$(digests)" ]; }

place() {
  install -d -m 0755 "$PKI/CA" "$PKI/libvirt/private" "$PKI/qemu"
  places | while read -r file path; do
    (umask 077 && cp "$COMPUTE/$file" "$PKI/$path.quorate")
    case $path in
    qemu/*) chown "$QEMU" "$PKI/$path.quorate" ;;
    esac
  done
  places | while read -r _ path; do
    mv -f "$PKI/$path.quorate" "$PKI/$path"
  done
}

# Prints the processes of libvirtd that have these directories: a virt host may have one of its own.
daemons() {
  for process in "$ROOT"/proc/[0-9]*; do
    read -r name <"$process/comm" || continue # it has ended
    [ "$name" != libvirtd ] || [ ! "$process/root/etc/pki/qemu" -ef "$PKI/qemu" ] || echo "${process##*/}"
  done 2>/dev/null
}

# Succeeds if every libvirtd has read the files. One that starts later reads these.
read_again() {
  for process in $(daemons); do
    nsenter --target="$process" --mount --root \
      virt-admin --connect=libvirtd:///system server-update-tls libvirtd || return 1
  done
}

case $1 in
used) used ;;
use)
  place
  end=$(($(date +%s) + ANSWERS))
  until said=$(read_again 2>&1); do
    if [ "$(date +%s)" -ge "$end" ]; then
      echo "libvirtd in the pod of nova-libvirt has not read this compute's certificate again: $said" >&2
      exit 1
    fi
    sleep 1
  done
  digests >"$STATE"
  ;;
esac
