#!/bin/sh
# Copies of etcd's data in /var/lib/etcd-backup. systemd runs it as the user etcd, whose directory that is.
#
#   etcd-backup keep  compares the copy `new`, restored to `restored`, with the living member, and gives it its name
#   etcd-backup test  restores the newest copy to a scratch member that reaches no network, and compares its content
#
# The content is compared by etcd's own hash of all keys and values up to a revision, which depends on the revision up to
# which old values were removed. A copy TIME.db has both in TIME.content.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

BACKUP=$ROOT/var/lib/etcd-backup
NEW=$BACKUP/new
RESTORED=$BACKUP/restored
SCRATCH=$BACKUP/scratch
START=300 # seconds until the scratch member must answer. Project figure
SERVER=

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

now() { date -u +%Y%m%dT%H%M%SZ; }

# Prints the number of a field of JSON; 0 if there is none, or for -1, with which etcd says that nothing was removed.
field() { # name, JSON
  found=$(printf '%s\n' "$2" | sed -n "s/.*\"$1\":\\([0-9][0-9]*\\).*/\\1/p")
  printf '%s' "${found:-0}"
}

# Sets CONTENT to the revision, the hash and the revision up to which old values were removed, of a member that runs.
ask_content() { # revision, words of etcdctl
  revision=$1
  shift
  said=$(etcdctl "$@" --write-out=json endpoint hashkv --rev="$revision")
  CONTENT="$revision $(field hash "$said") $(field compact_revision "$said")"
}

keep() {
  for _ in 1 2 3; do
    revision=$(field revision "$(etcdutl snapshot status "$NEW" --write-out=json)")
    ask_content "$revision"
    # It opens the file for writing: of the copy itself it would leave one that cannot be restored.
    # etcdutl panics on a key with a lease, as Kubernetes' events have ("no lessor to attach lease", 3.6.16). The copy is
    # kept all the same: the daily test compares it in a server.
    if said=$(etcdutl hashkv "$RESTORED/member/snap/db" --rev="$revision" --write-out=json 2>/dev/null); then
      copied="$(field hashRevision "$said") $(field hash "$said") $(field compactRevision "$said")"
    else
      copied=$CONTENT
    fi
    [ "$copied" != "$CONTENT" ] || break
    # Old values were removed meanwhile if the last number differs, as the API server does every 5 minutes.
    [ "${copied##* }" != "${CONTENT##* }" ] || die "the copy has other content than the member: $copied, not $CONTENT"
    rm -rf "$NEW" "$RESTORED"
    etcdctl snapshot save "$NEW"
    etcdutl snapshot restore "$NEW" --data-dir="$RESTORED"
  done
  [ "$copied" = "$CONTENT" ] || die "the copy was not compared: etcd removed old values during each of three copies"
  name=$BACKUP/$(now)
  printf '%s\n' "$CONTENT" >"$name.content"
  exec mv "$NEW" "$name.db"
}

newest() {
  found=
  for each in "$BACKUP"/*.content; do
    [ ! -f "${each%.content}.db" ] || found=${each%.content}
  done
  printf '%s' "$found"
}

finish() {
  code=$?
  [ -z "$SERVER" ] || kill -s KILL "$SERVER" 2>/dev/null || :
  rm -rf "$SCRATCH"
  if [ "$code" -eq 0 ]; then
    rm -f "$BACKUP/failed-test"
  else
    printf 'failed %s\n' "$(now)" >"$BACKUP/failed-test"
  fi
}

restore_and_compare() {
  trap finish EXIT
  trap 'exit 1' INT TERM
  copy=$(newest)
  [ -n "$copy" ] || die "there is no copy with a record of its content in $BACKUP"
  rm -rf "$SCRATCH"
  mkdir -m 0700 "$SCRATCH"
  cd "$SCRATCH"
  alone=--initial-advertise-peer-urls=unix://peer:0
  etcdutl snapshot restore "$copy.db" --data-dir=data --name=scratch --initial-cluster=scratch=unix://peer:0 "$alone"
  etcd --name=scratch --data-dir=data --log-level=error --listen-peer-urls=unix://peer:0 \
    --listen-client-urls=unix://client:0 --advertise-client-urls=unix://client:0 &
  SERVER=$!
  end=$(($(date +%s) + START))
  until etcdctl --endpoints=unix://client:0 endpoint health >/dev/null 2>&1; do
    kill -s 0 "$SERVER" 2>/dev/null || die "etcd does not start on the copy $copy.db"
    [ "$(date +%s)" -lt "$end" ] || die "etcd has not answered on the copy $copy.db after $START s"
    sleep 1
  done
  read -r expected <"$copy.content"
  ask_content "${expected%% *}" --endpoints=unix://client:0
  [ "$CONTENT" = "$expected" ] || die "$copy.db has other content than when it was made: $CONTENT, not $expected"
  etcdctl --endpoints=unix://client:0 put quorate-scratch written >/dev/null
  printf 'restored %s %s\n' "$(now)" "${copy##*/}.db" >"$BACKUP/last-test.new"
  mv "$BACKUP/last-test.new" "$BACKUP/last-test"
  printf '%s.db was restored and has its content: %s\n' "${copy##*/}" "$CONTENT"
}

case ${1-} in
keep) keep ;;
test) restore_and_compare ;;
*) die "usage: $0 keep|test" ;;
esac
