#!/bin/sh
# Ends of certificates, and disks, for alerts.
#
#   machine-metrics certificates       in files of this machine: etcd's, Kubernetes', a compute's
#   machine-metrics secrets NAMESPACE  in Secrets of type kubernetes.io/tls; on a master
#   machine-metrics disks              file systems of this machine
#
# Each writes one file into /var/lib/quorate/metrics, which node-exporter reads. The file gets its name when it is complete;
# if something fails, the previous one stays. It contains no secret. Times are in seconds since 1970.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

METRICS=$ROOT/var/lib/quorate/metrics

certificates() {
  for file in "$ROOT"/etc/etcd/pki/*.crt "$ROOT"/etc/kubernetes/pki/*.crt "$ROOT"/etc/kubernetes/pki/etcd/*.crt \
    "$ROOT"/etc/quorate/compute/*.crt "$ROOT"/var/lib/kubelet/pki/kubelet-client-current.pem; do
    [ ! -e "$file" ] || printf '%s{certificate="%s"} %s\n' \
      quorate_certificate_expiry_timestamp_seconds "${file#"$ROOT"}" "$(ends <"$file")"
  done
  for file in "$ROOT"/etc/kubernetes/*.conf; do
    [ -e "$file" ] || continue
    # Some kubeconfigs name a file instead, which is in the list above.
    inside=$(sed -n 's/^ *client-certificate-data: *//p' "$file")
    [ -z "$inside" ] || printf '%s{certificate="%s"} %s\n' \
      quorate_certificate_expiry_timestamp_seconds "${file#"$ROOT"}" "$(printf '%s' "$inside" | base64 -d | ends)"
  done
}

# Prints when the certificate on standard input ends; 0 if it cannot be read, which is an alert too.
ends() {
  end=$(openssl x509 -noout -enddate 2>/dev/null) || end=
  [ -n "$end" ] || end=notAfter=@0
  date -u -d "${end#notAfter=}" +%s
}

# The key is not printed.
TEMPLATE='{{range .items}}{{.metadata.name}} {{index .data "tls.crt"}}
{{end}}'

secrets() { # namespace
  found=$(kubectl --kubeconfig="$ROOT/etc/kubernetes/admin.conf" --request-timeout=30s --namespace="$1" get secrets \
    --field-selector=type=kubernetes.io/tls -o go-template="$TEMPLATE")
  while read -r name content; do
    [ -z "$name" ] || printf '%s{secret="%s"} %s\n' \
      quorate_secret_certificate_expiry_timestamp_seconds "$name" "$(printf '%s' "$content" | base64 -d | ends)"
  done <<END
$found
END
}

# Each file system once, by its first directory: data of services may have disks of their own.
disks() {
  for directory in / /var/lib /var/lib/kubelet /var/lib/containerd /var/lib/etcd /var/lib/quorate /var/lib/quorate/*/*; do
    [ ! -d "$directory" ] || df -Pk "$directory"
  done | awk '$2 ~ /^[1-9][0-9]*$/ && !told[$1]++ {
    printf "quorate_disk_available_ratio{mountpoint=\"%s\"} %.4f\n", $6, $4 / $2
  }'
}

case ${1-} in
certificates | secrets | disks) ;;
*)
  printf '%s\n' "usage: $0 certificates|secrets NAMESPACE|disks" >&2
  exit 2
  ;;
esac
umask 022
mkdir -p "$METRICS"
"$@" >"$METRICS/$1.new"
mv "$METRICS/$1.new" "$METRICS/$1.prom"
