# What `quorate restore etcd` asks and does on a machine with a member of etcd, as root. Set before: COMMAND; FROM, the
# name of a copy in /var/lib/etcd-backup, or `data` for the member's own data; SECONDS_TO_START.
#
#   look   prints what is on this machine, a fact in each line
#   stop   stops the member, so that a boot does not start it either
#   begin  makes this member the only one of a new cluster, with the data of FROM
#   join   sets the old data aside, and joins the new cluster
#   end    forgets that a restoration has begun here
#
# Data is set aside, never deleted. Each command can be run again after an interruption.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

DATA=$ROOT/var/lib/etcd
BACKUP=$ROOT/var/lib/etcd-backup
START=$ROOT/etc/etcd/start.env
MEMBERS=$ROOT/usr/local/lib/quorate/members
BEGUN=$DATA/restoration # on the machine whose data is used: `begun FROM`, then `made FROM`
JOINING=$DATA/joining   # on the others, once their old data is set aside
METRICS=2381
BUMP=1000000000 # revisions that no client has seen, so that each reads everything again (etcd's disaster recovery)

say() { printf '%s\n' "$*"; }

die() {
  say "$*"
  exit 1
}

# The member must not inherit the lock.
unit() { systemctl "$@" 9>&-; }
members() { sh "$MEMBERS" "$@" 9>&-; }

if [ ! -f "$ROOT/etc/etcd/member.env" ]; then
  say "state bare"
  [ "$COMMAND" = look ] || exit 1
  exit 0
fi
# shellcheck source=/dev/null
. "$ROOT/etc/etcd/member.env"
OWN=$ETCD_INITIAL_ADVERTISE_PEER_URLS

votes() { members votes >/dev/null 2>&1; }

# Prints the revision of the member's data. A member that runs serves its metrics also without a majority.
revision() { # state of the unit
  case $1 in
  active | activating)
    host=${OWN#*://}
    kubectl --kubeconfig=/dev/null --server="http://${host%:*}:$METRICS" --request-timeout=5s get --raw=/metrics \
      2>/dev/null | awk '$1 == "etcd_debugging_mvcc_current_revision" { printf "%d", $2 }'
    ;;
  *) etcdutl snapshot status "$DATA/member/snap/db" --write-out=json 2>/dev/null | sed -n 's/.*"revision":\([0-9]*\).*/\1/p' ;;
  esac
}

look() {
  state=$(unit is-active etcd.service || :)
  say "state $state"
  if [ -d "$DATA/member" ]; then
    found=$(revision "$state")
    written=$(stat --format=%Y "$DATA"/member/wal/*.wal 2>/dev/null | sort -n | tail -n 1)
    say "data ${found:--} ${written:--}"
  fi
  if votes; then say votes; fi
  if [ -f "$BEGUN" ]; then cat "$BEGUN"; fi
  for copy in "$BACKUP"/*.db; do
    [ -f "$copy" ] || continue
    content=${copy%.db}.content
    found=-
    if [ -f "$content" ]; then read -r found _ <"$content"; fi
    name=${copy##*/}
    say "copy ${name%.db} $found $(stat --format=%s "$copy")"
  done
}

stop() { unit disable --now --quiet etcd.service; }

set_aside() {
  [ -d "$DATA/member" ] || return 0
  aside=$DATA/aside-$(date -u +%Y%m%dT%H%M%SZ)
  mv -- "$DATA/member" "$aside"
  say "set the old data aside as ${aside#"$ROOT"}"
}

# Owned by etcd, as the unit itself makes it.
make_directory() {
  [ -d "$DATA" ] || install -d --mode=0700 --owner=etcd --group=etcd "$DATA"
}

copy_to_data() {
  [ -f "$BACKUP/$FROM.db" ] || die "there is no copy $FROM.db in /var/lib/etcd-backup"
  rm -rf -- "$DATA/restored"
  said=$(etcdutl snapshot restore "$BACKUP/$FROM.db" --data-dir="$DATA/restored" --name="$ETCD_NAME" \
    --initial-cluster="$ETCD_NAME=$OWN" --initial-advertise-peer-urls="$OWN" \
    --initial-cluster-token="$ETCD_INITIAL_CLUSTER_TOKEN" --bump-revision="$BUMP" --mark-compacted 2>&1) ||
    die "the copy $FROM.db cannot be restored: $said"
  set_aside
  mv -- "$DATA/restored/member" "$DATA/member"
  rmdir "$DATA/restored"
  [ "$(id -u)" -ne 0 ] || chown -R etcd:etcd "$DATA/member"
  rm -f -- "$START"
}

start() {
  unit enable --quiet etcd.service
  unit start --no-block etcd.service
  end=$(($(date +%s) + SECONDS_TO_START))
  until votes; do
    [ "$(date +%s)" -lt "$end" ] || die "etcd has not answered after $SECONDS_TO_START s: see \`journalctl --unit=etcd\`"
    sleep 1
  done
  rm -f -- "$START"
}

begin() {
  make_directory
  if [ "$(cat "$BEGUN" 2>/dev/null)" = "made $FROM" ]; then
    start
    return 0
  fi
  stop
  say "begun $FROM" >"$BEGUN"
  if [ "$FROM" = data ]; then
    [ -d "$DATA/member" ] || die "there is no data of a member in /var/lib/etcd"
    say ETCD_FORCE_NEW_CLUSTER=true >"$START"
  else
    copy_to_data
  fi
  start
  say "made $FROM" >"$BEGUN"
  say "$ETCD_NAME is the only member"
}

join() {
  make_directory
  if [ ! -f "$JOINING" ] && votes; then
    return 0 # an earlier run has done it: no member with old data has a majority
  fi
  if [ ! -f "$JOINING" ]; then
    stop
    set_aside
    : >"$JOINING"
  fi
  rm -f -- "$BEGUN" "$START"
  members join
  rm -f -- "$JOINING"
}

end() { rm -f -- "$BEGUN"; }

[ "$COMMAND" != look ] || {
  look
  exit 0
}
mkdir -p "$ROOT/run"
exec 9>"$ROOT/run/quorate-restore.lock"
flock --nonblock 9 || die "another restoration works on this machine now"
case $COMMAND in
stop) stop ;;
begin) begin ;;
join) join ;;
end) end ;;
*) die "unknown command $COMMAND" ;;
esac
