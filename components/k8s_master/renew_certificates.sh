#!/bin/sh
# Renews the certificates that kubeadm made on this master, before they expire, on one master at a time.
#
#   renew-certificates [ADDRESS…]   addresses of the other masters
#
# Nothing is done while all are valid for $DAYS days more. Otherwise every other API server must answer, and no other master
# may be renewing its own: a ConfigMap says which master does. A run that was interrupted starts again.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"
: "${DAYS=90}" # a quarter of their year. Project figure
RETURN=300 # seconds until the restarted API server must answer with its new certificate. Project figure
PORT=6443
NAMESPACE=kube-system
NAME=quorate-certificates
KUBERNETES=$ROOT/etc/kubernetes
PKI=$KUBERNETES/pki
ADMINISTRATOR=$KUBERNETES/admin.conf
BEGUN=$KUBERNETES/renewal # exists from the renewal of the files until all programs have read them

say() { printf '%s\n' "$*"; }

die() {
  say "$*" >&2
  exit 1
}

# Prints the certificate of a file, which may be a kubeconfig.
certificate() { # file
  case $1 in
  *.conf) sed -n 's/^ *client-certificate-data: *//p' "$1" | base64 -d ;;
  *) cat "$1" ;;
  esac
}

# Succeeds if one of the certificates is valid for less than so many days. Those that a master lacks are not kubeadm's.
expires_within() { # days
  for file in "$PKI/apiserver.crt" "$PKI/apiserver-kubelet-client.crt" "$PKI/front-proxy-client.crt" \
    "$ADMINISTRATOR" "$KUBERNETES/super-admin.conf" "$KUBERNETES/controller-manager.conf" "$KUBERNETES/scheduler.conf"; do
    [ -f "$file" ] || continue
    certificate "$file" | openssl x509 -noout -checkend $(($1 * 86400)) >/dev/null || return 0
  done
  return 1
}

answers() { # address
  kubectl --kubeconfig="$KUBERNETES/discovery.conf" --server="https://$1:$PORT" --request-timeout=5s \
    get --raw=/readyz >/dev/null 2>&1
}

api() { kubectl --kubeconfig="$ADMINISTRATOR" --namespace="$NAMESPACE" --request-timeout=30s "$@"; }

# Takes the turn of this master, or ends the run.
take_turn() {
  own=$(uname -n)
  if api create configmap "$NAME" --from-literal=master="$own" >/dev/null 2>&1; then
    return 0
  fi
  holder=$(api get configmap "$NAME" --output='jsonpath={.data.master}') || die "the ConfigMap $NAME cannot be made or read"
  [ "$holder" = "$own" ] || die "$holder renews its certificates now. If it is gone for good, delete the ConfigMap $NAME in $NAMESPACE"
}

# Prints the serial number of the certificate that the own API server shows.
shown() { openssl s_client -connect "127.0.0.1:$PORT" </dev/null 2>/dev/null | openssl x509 -noout -serial 2>/dev/null; }

renew() {
  : >"$BEGUN"
  kubeadm certs renew all --config="$KUBERNETES/kubeadm.yaml" >/dev/null
  # kubeadm has written one authority into the kubeconfigs, where another one may be trusted too.
  trusted=$(sed -n 's/^ *certificate-authority-data: *//p' "$KUBERNETES/discovery.conf")
  for file in "$ADMINISTRATOR" "$KUBERNETES/super-admin.conf" "$KUBERNETES/controller-manager.conf" "$KUBERNETES/scheduler.conf"; do
    [ ! -f "$file" ] || sed -i "s|^\( *certificate-authority-data: *\).*|\1$trusted|" "$file"
  done
  # They read their certificates at their start. kubelet starts each again.
  for program in kube-controller-manager kube-scheduler kube-apiserver; do
    process=$(pidof "$program") || continue
    # shellcheck disable=SC2086 # several numbers
    kill $process
  done
  new=$(openssl x509 -noout -serial <"$PKI/apiserver.crt")
  end=$(($(date +%s) + RETURN))
  until [ "$(shown)" = "$new" ] && answers 127.0.0.1; do
    [ "$(date +%s)" -lt "$end" ] || die "the API server has not answered with its new certificate after $RETURN s"
    sleep 2
  done
  say "renewed the certificates of kubeadm on this master"
}

command -v openssl >/dev/null || die "there is no openssl on this machine: install it"
if [ ! -f "$BEGUN" ] && ! expires_within "$DAYS"; then
  say "all certificates of kubeadm are valid for $DAYS days more"
  exit 0
fi
# An expired certificate protects nothing: no component of this master reaches an API server with it.
if expires_within 0; then
  renew
else
  for address; do
    answers "$address" || die "the API server of $address does not answer: no certificate is renewed until it does"
  done
  take_turn
  renew
  api delete configmap "$NAME" --ignore-not-found >/dev/null
fi
rm -f -- "$BEGUN"
