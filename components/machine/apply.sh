#!/bin/sh
# Brings this machine to the state that the directory of this script describes. Needs no Pulumi. A second run changes
# nothing; an interrupted run is continued by the next one.
#
#   apply [--dry-run] [--secrets DIR|-] [--before STEP] [--expect SHA256] [--resource NAME] [--wait SECONDS] [--root DIR]
#
#   --dry-run   print what would change, and change nothing
#   --secrets   directory with this machine's secret files (default: ../../secrets/machines/<node>); - for a tar archive
#               in base64 on standard input, which is unpacked in memory and removed at the end
#   --before    stop before this step
#   --expect    fail unless this directory is complete: the SHA-256 digest of its file `checksums`
#   --resource  name of the Pulumi resource that runs this; `leave` of an earlier resource then does nothing
#   --wait      seconds to wait for a restarted member of a quorum, and for another run to end (default: 120)
#   --root      use DIR instead of / (for tests; without root, owners stay as they are)
#
# Order: a question is asked if one is due before files change, files that differ are replaced and files that left the tree
# removed, then running units whose files changed are restarted, then each step whose check fails is applied. Before a
# member of a quorum stops, the quorum is asked; after, the member is awaited. Run this on one machine after another: two
# runs at the same moment could get the same answer.
#
# Exit status: 0 done, 1 failed, 2 wrong usage, 3 the quorum cannot spare the member, 4 another run is in progress.
set -eu
LC_ALL=C
export LC_ALL

HERE=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
NODE=$(basename -- "$HERE")
MANIFEST=$HERE/manifest
SECRETS=$HERE/../../secrets/machines/$NODE
ROOT=
WAIT=120
DRY=
BEFORE=
STOPPED=
EXPECT=
RESOURCE=

say() { printf '%s: %s\n' "$NODE" "$*"; }

die() {
  status=$1
  shift
  say "$*" >&2
  exit "$status"
}

while [ $# -gt 0 ]; do
  case $1 in
  --dry-run) DRY=yes ;;
  --secrets | --before | --expect | --resource | --wait | --root)
    [ $# -ge 2 ] || die 2 "$1 needs a value"
    case $1 in
    --secrets) SECRETS=$2 ;;
    --before) BEFORE=$2 ;;
    --expect) EXPECT=$2 ;;
    --resource) RESOURCE=$2 ;;
    --wait) WAIT=$2 ;;
    --root) ROOT=${2%/} ;;
    esac
    shift
    ;;
  *) die 2 "unknown argument $1; the first lines of apply list all arguments" ;;
  esac
  shift
done

OWNERS=yes
if [ "$(id -u)" -ne 0 ]; then
  [ -n "$ROOT" ] || die 2 "run as root"
  OWNERS=
fi
export ROOT

STATE=$ROOT/var/lib/quorate-apply
CHANGES=0

if [ -n "$EXPECT" ]; then
  cd -- "$HERE"
  if ! echo "$EXPECT  checksums" | sha256sum -c --status || ! sha256sum -c --status checksums; then
    die 1 "the directory $HERE is incomplete or another version; copy it again"
  fi
  cd - >/dev/null
fi

if [ "$SECRETS" = - ]; then
  SECRETS=$(mktemp -d "$ROOT/run/quorate-secrets.XXXXXX")
  trap 'rm -rf -- "$SECRETS"' EXIT
  trap 'exit 1' HUP INT TERM
  base64 -d | tar -x --no-same-owner -C "$SECRETS" || die 1 "standard input is not an archive of secret files"
fi

# Counts a change and prints it. Fails in a dry run, so that the caller leaves it at that.
change() {
  CHANGES=$((CHANGES + 1))
  if [ -n "$DRY" ]; then
    say "would $*"
    return 1
  fi
  say "$*"
}

same() { # source target mode owner
  [ -f "$2" ] && [ ! -L "$2" ] && cmp -s -- "$1" "$2" && [ "$(stat -c %a -- "$2")" = "$3" ] || return 1
  [ -z "$OWNERS" ] || [ "$(stat -c %U:%G -- "$2")" = "$4" ]
}

# A unit that does not run yet is started by a step, with the new file. The mark outlives an interrupted run.
mark_restart() {
  if [ "$1" != - ] && systemctl is-active --quiet "$1"; then
    : >"$STATE/restart/$1"
  fi
}

mark_reload() {
  case $1 in
  /etc/systemd/system/*) : >"$STATE/reload" ;;
  esac
}

install_file() { # mode owner kind unit path
  target=$ROOT$5
  source=$HERE/root$5
  if [ "$3" = secret ]; then
    source=$SECRETS$5
    [ -f "$source" ] || die 1 "secret file $5 is missing in $SECRETS"
  fi
  if same "$source" "$target" "$1" "$2"; then
    return 0
  fi
  change "install $5" || return 0
  mark_reload "$5"
  mark_restart "$4"
  mkdir -p -- "$(dirname -- "$target")"
  unfinished=$(dirname -- "$target")/.$(basename -- "$target").quorate
  rm -f -- "$unfinished"
  (umask 077 && cp -- "$source" "$unfinished")
  [ -z "$OWNERS" ] || chown -- "$2" "$unfinished"
  chmod -- "$1" "$unfinished"
  mv -f -- "$unfinished" "$target"
}

listed() { awk -v path="$1" '$1 == "file" && $6 == path { found = 1 } END { exit !found }' "$MANIFEST"; }

remove_files() {
  [ -f "$STATE/files" ] || return 0
  while read -r path <&4; do
    if ! listed "$path" && [ -e "$ROOT$path" ] && change "remove $path"; then
      mark_reload "$path"
      rm -f -- "$ROOT$path"
    fi
  done 4<"$STATE/files"
}

# Remembered before the first file is written, so that an interrupted run loses none.
remember_files() {
  [ -z "$DRY" ] || return 0
  awk '$1 == "file" { print $6 }' "$MANIFEST" | sort -u - "$@" >"$STATE/files.new"
  mv -f -- "$STATE/files.new" "$STATE/files"
}

ask_quorum() { # quorum, what is to be done
  [ "$1" != - ] || return 0
  if ! answer=$(sh "$HERE/quorums/$1" may-stop 2>&1); then
    die 3 "stopped before: $2. $answer"
  fi
}

await_member() { # quorum
  [ "$1" != - ] || return 0
  waited=0
  until sh "$HERE/quorums/$1" is-back >/dev/null 2>&1; do
    [ "$waited" -lt "$WAIT" ] || die 1 "this machine's member of $1 is not healthy after $WAIT s"
    sleep 1
    waited=$((waited + 1))
  done
}

ask() { # question
  export HERE SECRETS
  answer=$(sh "$HERE/questions/$1" ask 3<&- 9>&- 2>&1) ||
    die 1 "stopped before any file is changed: $answer"
}

restart_unit() { # unit quorum
  [ -e "$STATE/restart/$1" ] || return 0
  if systemctl is-active --quiet "$1"; then
    ask_quorum "$2" "restart $1"
    change "restart $1"
    systemctl restart "$1"
    await_member "$2"
  fi
  rm -f -- "$STATE/restart/$1"
}

run_step() { # step quorum
  [ -z "$BEFORE" ] || [ "${1#*-}" != "$BEFORE" ] || STOPPED=yes
  [ -z "$STOPPED" ] || return 0
  if sh "$HERE/steps/$1" check >/dev/null 2>&1; then
    return 0
  fi
  [ -n "$DRY" ] || ask_quorum "$2" "step $1"
  change "apply step $1" || return 0
  sh "$HERE/steps/$1" apply 3<&- 9>&- || die 1 "step $1 failed"
  await_member "$2"
  sh "$HERE/steps/$1" check || die 1 "step $1 was applied, and its check still fails"
}

each() { # kind of line, command
  while read -r kind first second third fourth fifth <&3; do
    if [ "$kind" = "$1" ]; then
      "$2" "$first" "$second" "$third" "$fourth" "$fifth"
    fi
  done 3<"$MANIFEST"
}

if [ -z "$DRY" ]; then
  mkdir -p -- "$STATE/restart"
  exec 9>"$STATE/lock"
  flock -w "$WAIT" 9 || die 4 "another run is in progress"
  [ -z "$RESOURCE" ] || printf '%s\n' "$RESOURCE" >"$STATE/resource"
  if [ -f "$STATE/files" ]; then
    remember_files "$STATE/files"
  else
    remember_files
  fi
fi

[ -n "$DRY" ] || each question ask
each file install_file
remove_files
remember_files
if [ -e "$STATE/reload" ] && [ -z "$DRY" ]; then
  systemctl daemon-reload
  rm -f -- "$STATE/reload"
fi
[ -n "$DRY" ] || each unit restart_unit
each step run_step

if [ "$CHANGES" -eq 0 ]; then
  say "nothing to change"
elif [ -n "$DRY" ]; then
  say "$CHANGES changes to make"
else
  say "$CHANGES changes made"
fi
