# Removes the member of a dead machine from etcd, as root on a machine with a member that answers. Set before: DEAD, the
# peer URL of the member; OWN, the client URL of this machine's member; PKI and BACKUP, directories here.
# A second run finds nothing to do. Exit status: 0 done, 1 refused or failed.
set -eu
LC_ALL=C
export LC_ALL

etcd() { # endpoints, seconds, words of etcdctl
  at=$1
  seconds=$2
  shift 2
  etcdctl --cacert="$PKI/ca.crt" --cert="$PKI/server.crt" --key="$PKI/server.key" --endpoints="$at" \
    --command-timeout="${seconds}s" "$@" </dev/null
}

die() {
  echo "$*" >&2
  exit 1
}

list=$(etcd "$OWN" 10 member list) || die "etcd has no majority: it gave no list of its members"
line=$(printf '%s\n' "$list" | awk -F', ' -v url="$DEAD" '$4 == url')
if [ -z "$line" ]; then
  echo "etcd lists no member at $DEAD"
  exit 0
fi
id=${line%%,*}
clients=$(printf '%s\n' "$line" | awk -F', ' '{ print $5 }')
if [ -n "$clients" ] && etcd "$clients" 3 endpoint health >/dev/null 2>&1; then
  die "the member at $DEAD answers: its machine is on"
fi
# Of the members with a vote, those that answer must be a majority without this one.
voters=0
healthy=0
for client in $(printf '%s\n' "$list" | awk -F', ' '$6 == "false" { print $5 == "" ? "-" : $5 }'); do
  voters=$((voters + 1))
  if [ "$client" != - ] && etcd "$client" 3 endpoint health >/dev/null 2>&1; then
    healthy=$((healthy + 1))
  fi
done
[ "$healthy" -gt $((voters / 2)) ] || die "etcd has $healthy of $voters members that answer: no majority"
umask 077
mkdir -p "$BACKUP"
copy=$BACKUP/$(date -u +%Y%m%dT%H%M%SZ).db
etcd "$OWN" 120 snapshot save "$copy" >/dev/null 2>&1 || die "etcd's data could not be copied from $OWN"
etcd "$OWN" 10 member remove "$id" >/dev/null
echo "removed member $id at $DEAD from etcd; its data before that: $copy"
