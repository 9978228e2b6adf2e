#!/bin/sh
# Puts copies of etcd's data, which etcd-backup has made and compared, into an object store: those that are newer than the
# last one there, at first only the newest. systemd runs it as the user etcd, with the name of its member.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

BACKUP=$ROOT/var/lib/etcd-backup
STORED=$BACKUP/last-copy

newest=
for each in "$BACKUP"/*.content; do
  [ ! -f "${each%.content}.db" ] || newest=$(basename "$each" .content)
done
[ -n "$newest" ] || {
  printf '%s\n' "there is no copy with a record of its content in $BACKUP" >&2
  exit 1
}
last=
[ ! -e "$STORED" ] || read -r _ last <"$STORED"

for each in "$BACKUP"/*.content; do
  [ -f "${each%.content}.db" ] || continue
  name=$(basename "$each" .content)
  if [ -z "$last" ]; then
    [ "$name" = "$newest" ] || continue
  elif ! expr "x$name" '>' "x$last" >/dev/null; then
    continue
  fi
  "$ROOT/usr/local/lib/quorate/backup-store" put "etcd/$ETCD_NAME/$name" "$BACKUP" "$name.db" "$name.content"
  printf 'copied %s\n' "$name" >"$STORED.new"
  mv "$STORED.new" "$STORED"
done
