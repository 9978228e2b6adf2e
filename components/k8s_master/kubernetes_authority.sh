#!/bin/sh
# Lets this node use the authority of Kubernetes with which the client certificate of discovery.conf is signed, and trust
# those that are in it.
#
#   kubernetes-authority used|use GENERATIONS
#
#   used         succeed if nothing is left to do
#   GENERATIONS  which one signs and which are trusted, as in g2-of-g1-g2. An annotation of the Node says so as soon as
#                its programs have read them, and masters ask it before they go further.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"
: "${ANSWERS=60}" # seconds until an API server must answer, or a certificate be signed. Project figure
ANNOTATION=quorate.io/kubernetes-authority
KUBERNETES=$ROOT/etc/kubernetes
PKI=$KUBERNETES/pki
DISCOVERY=$KUBERNETES/discovery.conf
KUBELET=$KUBERNETES/kubelet.conf
CERTIFICATES=$ROOT/var/lib/kubelet/pki
CERTIFICATE=$CERTIFICATES/kubelet-client-current.pem
STATE=$KUBERNETES/authority # GENERATIONS of this node; empty from the first change until all programs have read it
API=https://127.0.0.1:6443
GENERATIONS=$2
node=$(sed -n 's/^name: "\(.*\)"$/\1/p' "$ROOT/etc/quorate/node.yaml")

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

value() { sed -n "s/^ *$2: *//p" "$1"; } # file key

# Prints the certificates of standard input, each as a line, sorted.
certificates() { awk '/-----BEGIN/ { block = "" } { block = block $0 } /-----END/ { print block }' | sort -u; }

is_master() { [ -f "$PKI/ca.key" ]; }

# Prints the kubeconfigs of this node. Those that a master lacks are not kubeadm's.
kubeconfigs() {
  for name in kubelet admin super-admin controller-manager scheduler; do
    [ ! -f "$KUBERNETES/$name.conf" ] || echo "$KUBERNETES/$name.conf"
  done
}

trusts() { # kubeconfig
  [ "$(value "$1" certificate-authority-data | base64 -d | certificates)" = "$trusted" ]
}

# Succeeds if the authority in use has signed the certificate.
signed() { # file [file with the certificate of another authority]
  [ -f "$1" ] && openssl verify -no_check_time -partial_chain -CAfile "${2:-$WORK/signing.crt}" "$1" >/dev/null 2>&1
}

signed_client() { # kubeconfig
  value "$1" client-certificate-data | base64 -d >"$WORK/client.crt"
  signed "$WORK/client.crt"
}

# Succeeds if the certificates that kubeadm made on this master are signed by the authorities in use, which are the first
# ones of their files. The front proxy has an authority of its own.
kubeadm_signed() {
  openssl x509 -in "$PKI/front-proxy-ca.crt" -out "$WORK/front-proxy.crt" 2>/dev/null &&
    signed "$PKI/front-proxy-client.crt" "$WORK/front-proxy.crt" || return 1
  for name in apiserver apiserver-kubelet-client; do
    signed "$PKI/$name.crt" || return 1
  done
  for file in $(kubeconfigs); do
    [ "$file" = "$KUBELET" ] || signed_client "$file" || return 1
  done
}

annotation() {
  kubectl --kubeconfig="$KUBELET" --request-timeout=10s get node "$node" \
    --output='jsonpath={.metadata.annotations.quorate\.io/kubernetes-authority}'
}

used() {
  [ -f "$STATE" ] && [ "$(cat "$STATE")" = "$GENERATIONS" ] && signed "$CERTIFICATE" || return 1
  for file in $(kubeconfigs); do
    trusts "$file" || return 1
  done
  [ "$(certificates <"$PKI/ca.crt")" = "$trusted" ] || return 1
  ! is_master || kubeadm_signed || return 1
  [ "$(await annotation)" = "$GENERATIONS" ]
}

# Runs a command until it succeeds.
await() { # words
  end=$(($(date +%s) + ANSWERS))
  until "$@" 2>"$WORK/error"; do
    [ "$(date +%s)" -lt "$end" ] || return 1
    sleep 1
  done
}

whoami() { kubectl --kubeconfig="$1" --server="$API" --request-timeout=10s auth whoami >/dev/null; } # kubeconfig

replace() { # mode, file; the content on standard input
  (umask 077 && cat >"$2.quorate")
  chmod "$1" "$2.quorate"
  mv -f -- "$2.quorate" "$2"
}

trust() { # kubeconfig
  data=$(value "$DISCOVERY" certificate-authority-data)
  sed "s|^\( *certificate-authority-data: *\).*|\1$data|" "$1" | replace 600 "$1"
}

# Prints a certificate for kubelet, and its key. A master signs it itself, as at its start: which controller manager signs
# requests is not known while one master after the other changes.
own_certificate() {
  kubeadm kubeconfig user --client-name="system:node:$node" --org=system:nodes \
    --config="$KUBERNETES/kubeadm.yaml" >"$WORK/user.conf"
  for key in client-certificate-data client-key-data; do
    value "$WORK/user.conf" "$key" | base64 -d
  done
}

# The same of a node without the authority's key, which requests it as when it joined. The key does not leave it.
requested_certificate() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$WORK/key" 2>/dev/null
  openssl req -new -key "$WORK/key" -subj "/O=system:nodes/CN=system:node:$node" -out "$WORK/request"
  name=$(printf '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"generateName":"quorate-%s-"},
    "spec":{"request":"%s","signerName":"kubernetes.io/kube-apiserver-client-kubelet","usages":["digital signature","client auth"]}}' \
    "$node" "$(base64 -w 0 <"$WORK/request")" |
    join create --filename=- --output='jsonpath={.metadata.name}') || die "no certificate can be requested for this node"
  await issued "$name" || die "the request $name for this node's certificate was not signed within $ANSWERS s:" \
    "kubectl describe certificatesigningrequest $name"
  cat "$WORK/issued" "$WORK/key"
}

join() { kubectl --kubeconfig="$DISCOVERY" --server="$API" --request-timeout=10s "$@"; }

issued() { # name
  join get certificatesigningrequest "$1" --output='jsonpath={.status.certificate}' | base64 -d >"$WORK/issued"
  [ -s "$WORK/issued" ]
}

renew_kubelet() {
  if is_master; then own_certificate >"$WORK/kubelet.pem"; else requested_certificate >"$WORK/kubelet.pem"; fi
  signed "$WORK/kubelet.pem" ||
    die "another authority than the one of discovery.conf has signed this node's certificate. Finish apply on all masters, then run" \
      "it again here"
  file=$CERTIFICATES/kubelet-client-$(date -u +%Y-%m-%d-%H-%M-%S).pem
  replace 600 "$file" <"$WORK/kubelet.pem"
  ln -sfn -- "$file" "$CERTIFICATE.quorate"
  mv -fT -- "$CERTIFICATE.quorate" "$CERTIFICATE"
}

annotate() {
  kubectl --kubeconfig="$KUBELET" --request-timeout=10s annotate node "$node" --overwrite "$ANNOTATION=$GENERATIONS" >/dev/null
}

use() {
  await whoami "$DISCOVERY" ||
    die "no API server accepts the authority that this node would use, or one shows a certificate of another authority:" \
      "$(cat "$WORK/error"). Finish apply on all masters, then run it again here"
  : >"$STATE"
  if is_master; then
    kubeadm_signed || kubeadm certs renew all --config="$KUBERNETES/kubeadm.yaml" >/dev/null
  else
    replace 644 "$PKI/ca.crt" <"$WORK/trusted.crt"
  fi
  for file in $(kubeconfigs); do
    trusts "$file" || trust "$file" # kubeadm writes one authority only
  done
  signed "$CERTIFICATE" || renew_kubelet
  await whoami "$KUBELET" || die "no API server accepts kubelet's new certificate: $(cat "$WORK/error")"
  systemctl restart kubelet.service
  await annotate || die "the Node $node cannot be annotated: $(cat "$WORK/error")"
  printf '%s\n' "$GENERATIONS" >"$STATE"
}

command -v openssl >/dev/null || die "there is no openssl on this machine: install it"
WORK=$(mktemp -d "$ROOT/run/quorate-authority.XXXXXX")
trap 'rm -rf -- "$WORK"' EXIT
trap 'exit 1' HUP INT TERM
value "$DISCOVERY" certificate-authority-data | base64 -d >"$WORK/trusted.crt"
openssl x509 -in "$WORK/trusted.crt" -out "$WORK/signing.crt" # the first of them
trusted=$(certificates <"$WORK/trusted.crt")
"$1"
