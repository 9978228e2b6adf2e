#!/bin/sh
# Succeeds if the files of this master may become those in $SECRETS, when another authority of Kubernetes is in them.
#
#   authority-question GENERATIONS ADDRESS…   as kubernetes-authority has them; addresses of all masters
#
# As long as nodes and masters change one after the other, any two of them must accept each other. So each must trust the
# authority that is used here then, and use one that is trusted here then. API servers show that by a request, nodes and
# the programs of masters by their annotations. Pods read the authorities once, when they start.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"
: "${SPREADS=150}" # seconds until kubelets have written a changed ConfigMap for pods: a minute, and its cache. Project figure
: "${ANSWERS=60}"  # seconds until an API server must answer. Project figure
PORT=6443
PKI=/etc/kubernetes/pki
ADMINISTRATOR=$ROOT/etc/kubernetes/admin.conf
AUTHORITY='quorate\.io/kubernetes-authority'
GENERATIONS=$1
shift

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

api() { kubectl --kubeconfig="$ADMINISTRATOR" --request-timeout=30s "$@"; }

# Prints the certificate of the authority that signs: the first one of a file.
signing() { openssl x509 <"$1"; } # file

accepts() { # address
  answer=$(kubectl --kubeconfig="$SECRETS/etc/kubernetes/discovery.conf" --server="https://$1:$PORT" --request-timeout=10s \
    auth whoami 2>&1)
}

# Prints what the lines "kind name [annotation]" on standard input are in the way of.
#
# Each line must trust the generation that signs here then, and use one that is trusted here then.
refusing() {
  awk -v wanted="$GENERATIONS" '
    function has(list, generation) { return index("-" list "-", "-" generation "-") }
    BEGIN { split(wanted, next_, "-of-") }
    {
      now = $3 == "[]" ? "g1-of-g1" : substr($3, 2, length($3) - 2)
      split(now, own, "-of-")
      if (!has(own[2], next_[1])) print $1 " " $2 " does not trust " next_[1] " yet"
      else if (!has(next_[2], own[1])) print $1 " " $2 " still uses " own[1]
    }'
}

annotated() { # kind, words of kubectl
  kind=$1
  shift
  found=$(api get "$@" --output="jsonpath={range .items[*]}$kind {.metadata.name} [{.metadata.annotations.$AUTHORITY}]{\"\n\"}{end}") ||
    die "the API server does not answer: nothing is changed until it does"
  printf '%s\n' "$found" | awk 'NF'
}

# Prints "namespace time": from when on a container has read the authority, in each namespace whose ConfigMap has it.
published() {
  target=$(signing "$1" | tr -d '\n')
  maps=$(api get configmaps --all-namespaces --field-selector=metadata.name=kube-root-ca.crt --show-managed-fields --output='jsonpath={range .items[*]}namespace {.metadata.namespace} {.metadata.managedFields[*].time}{"\n"}{.data.ca\.crt}{"\n"}{end}') ||
    die "the ConfigMaps kube-root-ca.crt cannot be read"
  printf '%s\n' "$maps" | awk -v target="$target" '
    $1 == "namespace" {
      name = $2; time = ""; block = ""
      for (i = 3; i <= NF; i++) if ($i > time) time = $i
      next
    }
    /-----BEGIN/ { block = "" }
    { block = block $0 }
    /-----END/ && block == target { print name, time }' |
    while read -r name time; do
      echo "$name $(date -u -d "$time + $SPREADS seconds" +%Y-%m-%dT%H:%M:%SZ)"
    done
}

# Prints the owners of pods that have started before they could read the authority.
started_before() { # file with namespaces and times
  path='{range .items[*]}{.metadata.namespace} {.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name} {.metadata.name} [{.spec.volumes[*].projected.sources[*].configMap.name}] {.status.containerStatuses[*].state.running.startedAt}{"\n"}{end}'
  pods=$(api get pods --all-namespaces --field-selector=status.phase!=Succeeded,status.phase!=Failed \
    --output="jsonpath=$path") || die "the pods cannot be listed"
  printf '%s\n' "$pods" | awk -v published="$1" '
    BEGIN { while ((getline line < published) > 0) { split(line, word, " "); since[word[1]] = word[2] } }
    /[[ ]kube-root-ca\.crt[] ]/ {
      first = $NF ~ /^[0-9-]+T[0-9:]+Z$/ ? $NF : ""
      for (i = 4; i <= NF; i++) if ($i ~ /^[0-9-]+T[0-9:]+Z$/ && $i < first) first = $i
      owner = $2 == "/" ? "Pod/" $3 : $2
      if (first != "" && (!($1 in since) || first < since[$1])) print $1 ":" owner
    }' | sort -u
}

[ -f "$ROOT/etc/kubernetes/kubelet.conf" ] && [ -f "$ROOT$PKI/ca.crt" ] || exit 0 # it has not joined yet
! cmp -s "$SECRETS$PKI/ca.crt" "$ROOT$PKI/ca.crt" || exit 0
command -v openssl >/dev/null || die "there is no openssl on this machine: install it"

for each; do
  end=$(($(date +%s) + ANSWERS))
  until accepts "$each"; do
    [ "$(date +%s)" -lt "$end" ] ||
      die "the API server of $each does not accept the authority that would be used here, or shows a certificate of one that would" \
        "not be trusted here any more, or does not answer ($answer). Finish the deployment before this one first" \
        "(quorate:certificates.kubernetes)"
    sleep 2
  done
done
in_the_way=$({
  annotated Node nodes
  annotated Pod pods --namespace=kube-system --selector=tier=control-plane
} | refusing)
[ -z "$in_the_way" ] ||
  die "not every program could go on beside this master: $(printf '%s\n' "$in_the_way" | paste -sd, - | sed 's/,/, /g')." \
    "Finish the deployment before this one first: apply on all machines, also on those that were off. Delete the Node of a" \
    "machine that is gone for good (quorate:certificates.kubernetes)"
[ "$(signing "$SECRETS$PKI/ca.crt")" != "$(signing "$ROOT$PKI/ca.crt")" ] || exit 0

# API servers will show certificates of the other authority.
WORK=$(mktemp -d "$ROOT/run/quorate-authority.XXXXXX")
trap 'rm -rf -- "$WORK"' EXIT
trap 'exit 1' HUP INT TERM
published "$SECRETS$PKI/ca.crt" >"$WORK/published"
old=$(started_before "$WORK/published")
[ -z "$old" ] ||
  die "these pods have read the authorities before the new one was among them, or less than $SPREADS s after:" \
    "$(printf '%s\n' "$old" | paste -sd' ' -). Restart them (kubectl --namespace=… rollout restart …), then run this again"
