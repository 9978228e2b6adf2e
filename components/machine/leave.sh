#!/bin/sh
# Takes this machine out of the cloud: the steps' parts for leaving in reverse order, then its files. A second run goes
# on where the first one ended, or finds nothing to do. Data of the cloud's services stays below /var/lib/quorate.
#
#   leave [--resource NAME] [--wait SECONDS] [--root DIR]
#
#   --resource  do nothing if another resource has run `apply` on this machine since: the machine stays in the stack
#   --wait      seconds to wait for another run to end (default: 120)
#   --root      use DIR instead of / (for tests)
#
# Exit status: 0 done, 1 failed, 2 wrong usage, 3 a quorum would lose its majority, 4 another run is in progress.
set -eu
LC_ALL=C
export LC_ALL

HERE=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
NODE=$(basename -- "$HERE")
RESOURCE=
WAIT=120
ROOT=

say() { printf '%s: %s\n' "$NODE" "$*"; }

die() {
  status=$1
  shift
  say "$*" >&2
  exit "$status"
}

while [ $# -gt 0 ]; do
  case $1 in
  --resource | --wait | --root)
    [ $# -ge 2 ] || die 2 "$1 needs a value"
    case $1 in
    --resource) RESOURCE=$2 ;;
    --wait) WAIT=$2 ;;
    --root) ROOT=${2%/} ;;
    esac
    shift
    ;;
  *) die 2 "unknown argument $1; the first lines of leave list all arguments" ;;
  esac
  shift
done
[ -n "$ROOT" ] || [ "$(id -u)" -eq 0 ] || die 2 "run as root"
export ROOT

STATE=$ROOT/var/lib/quorate-apply

if [ ! -d "$STATE" ]; then
  say "nothing to leave"
  exit 0
fi
exec 9>"$STATE/lock"
flock -w "$WAIT" 9 || die 4 "another run is in progress"
if [ -n "$RESOURCE" ] && [ -f "$STATE/resource" ] && [ "$(cat "$STATE/resource")" != "$RESOURCE" ]; then
  say "stays: $(cat "$STATE/resource") has set this machine up since"
  exit 0
fi

while read -r kind step _ <&3; do
  [ "$kind" = leave ] || continue
  say "leave step $step"
  sh "$HERE/steps/$step" leave 3<&- 9>&- || die "$?" "step $step could not be left; run this again to go on"
done 3<"$HERE/manifest"

if [ -f "$STATE/files" ]; then
  while read -r path <&4; do
    rm -f -- "$ROOT$path"
  done 4<"$STATE/files"
  systemctl daemon-reload
fi
rm -rf -- "$STATE"
say "left"
