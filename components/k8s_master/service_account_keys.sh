#!/bin/sh
# Succeeds if the API server of this master may restart with the keys of service accounts that are in $PKI.
#
#   service-account-keys ADDRESS…   addresses of all masters
#
# Every API server must accept the key that signs then. If one of them still accepts a key that will not be accepted here
# any more, no token of that key may be in use: each API server has signed with another key for longer than tokens are valid,
# no Secret has such a token, and no client uses tokens that should have been renewed.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"
: "${LIFETIME=3607}" # seconds for which the tokens of pods are valid (kube-apiserver), those of controllers not longer
: "${WATCHED=600}"   # seconds in which every client of Kubernetes' library asks again. Its watches last 5 to 10 minutes
PORT=6443
PKI=$ROOT/etc/kubernetes/pki
REPEAT="Then run this again. Until then, a restart of the API server here ends the validity of old tokens at it"

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

api() { kubectl --kubeconfig="$ROOT/etc/kubernetes/admin.conf" --request-timeout=30s "$@"; }

ask() { # address, words of kubectl
  address=$1
  shift
  api --server="https://$address:$PORT" "$@" || die "the API server of $address does not answer: no keys are changed until it does"
}

# Prints the name by which tokens and API servers know a public key in DER: its digest (RFC 7515, base64url).
name() { openssl dgst -sha256 -binary | base64 | tr '+/' '-_' | tr -d '='; }

# Prints the names of the public keys in a file.
names() { # file
  block=
  while read -r line; do
    block="$block$line
"
    case $line in
    *END*)
      printf %s "$block" | openssl pkey -pubin -outform DER | name
      block=
      ;;
    esac
  done <"$1"
}

# Prints the name of the key that has signed the token on standard input.
signer() {
  { cut -d. -f1 | tr -d '\n' | tr -- '-_' '+/' && echo '=='; } | base64 -d 2>/dev/null |
    sed -n 's/.*"kid": *"\([^"]*\)".*/\1/p'
}

known() { printf '%s\n' "$accepted" | grep -qxF -e "$1"; }

# Prints a metric of an API server as a whole number.
metric() { # address name
  metrics=$(ask "$1" get --raw=/metrics)
  number=$(printf '%s\n' "$metrics" | awk -v name="$2" '$1 == name { printf "%d\n", $2 }')
  [ -n "$number" ] || die "the API server of $1 has no metric $2: no keys are changed"
  echo "$number"
}

# Prints for how many seconds the longest tokens of pods are valid.
longest() {
  path='{.items[*].spec.volumes[*].projected.sources[*].serviceAccountToken.expirationSeconds}'
  found=$(api get pods --all-namespaces --output="jsonpath=$path") || die "the pods cannot be listed"
  printf '%s\n' "$found" | tr ' ' '\n' | awk -v longest="$LIFETIME" '$1 > longest { longest = $1 } END { print longest }'
}

# Prints how many requests the API servers have accepted whose tokens should have been renewed.
stale() { # addresses
  sum=0
  for server; do
    requests=$(metric "$server" serviceaccount_stale_tokens_total)
    sum=$((sum + requests))
  done
  echo "$sum"
}

# Prints the Secrets whose tokens another key has signed than those that will be accepted.
old_secrets() {
  path='{range .items[*]}{.metadata.namespace}/{.metadata.name} {.data.token}{"\n"}{end}'
  found=$(api get secrets --all-namespaces --field-selector=type=kubernetes.io/service-account-token \
    --output="jsonpath=$path") || die "the Secrets cannot be listed"
  printf '%s\n' "$found" | while read -r secret token; do
    [ -n "$token" ] || continue
    # printf is the shell's own, so that no process has the token as an argument.
    known "$(printf %s "$token" | base64 -d | signer)" || printf ' %s' "$secret"
  done
}

command -v openssl >/dev/null || die "there is no openssl on this machine: install it"
accepted=$(names "$PKI/sa.pub")
next=$(openssl pkey -in "$PKI/sa.key" -pubout -outform DER | name)
old=
for each; do
  keys=$(ask "$each" get --raw=/openid/v1/jwks)
  keys=$(printf '%s\n' "$keys" | grep -o '"kid": *"[^"]*"' | cut -d'"' -f4)
  printf '%s\n' "$keys" | grep -qxF -e "$next" ||
    die "the API server of $each does not accept the key that would sign here. Deploy first that all of them trust both" \
      "(quorate:certificates.serviceAccounts.trusts)"
  for key in $keys; do
    known "$key" || old="$old$each
"
  done
done
[ -n "$old" ] || exit 0

# These servers accept a key that is dropped here. The others have been asked before, and have restarted since.
servers=$(printf %s "$old" | sort -u)
for each in $servers; do
  token=$(ask "$each" create token default --namespace=kube-system)
  known "$(printf %s "$token" | signer)" ||
    die "the API server of $each still signs with a key that would not be accepted here. Deploy first that all of them use the" \
      "other one (quorate:certificates.serviceAccounts.uses)"
done
lifetime=$(longest)
for each in $servers; do
  started=$(metric "$each" process_start_time_seconds)
  age=$(($(date +%s) - started))
  [ "$age" -gt "$lifetime" ] ||
    die "the API server of $each has signed with the other key for $age s, and tokens are valid for $lifetime s: wait" \
      "$((lifetime - age + 1)) s. $REPEAT"
done
secrets=$(old_secrets)
[ -z "$secrets" ] ||
  die "these Secrets have tokens that would not be accepted here any more:$secrets. Remove the key token of each, and a new one" \
    "is written: kubectl --namespace=… patch secret … --type=json --patch='[{\"op\":\"remove\",\"path\":\"/data/token\"}]'. $REPEAT"
# shellcheck disable=SC2086 # several addresses
before=$(stale $servers)
[ "$before" -eq 0 ] || {
  sleep "$WATCHED"
  # shellcheck disable=SC2086 # several addresses
  after=$(stale $servers)
  [ "$after" -eq "$before" ] ||
    die "$((after - before)) requests in $WATCHED s had tokens that their programs should have read again long ago. Changes among them have" \
      "authentication.k8s.io/stale-token in /var/log/kubernetes/audit.log on the masters: restart the pods that it names. $REPEAT"
}
