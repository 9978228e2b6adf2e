#!/bin/sh
# etcd's members, as a machine with one sees them: asks the living cluster, joins it, removes members from it.
#
#   members COMMAND
#
#   has-version  succeeds if etcd on this machine is of a version that may run or join
#   may-stop     succeeds if the others are a majority without this machine's member
#   is-started   succeeds if the member is started, or if a cluster runs that it has to join
#   start        starts the member of a new cluster, without waiting for the others
#   votes        succeeds if this machine's member has a vote and answers with a majority
#   join         joins the cluster that runs, or waits for the new one
#   is-tidy      succeeds if every member that left the stack still answers: it leaves by its own `leave`
#   tidy         removes one member that left the stack and does not answer
#   may-leave    succeeds if the others keep a majority when this machine's member is removed
#   leave        removes this machine's member from the cluster, and its data from the machine
#   defragment   returns the database's unused space to the file system, if it is much and the others are a majority
#   stored PATH  prints the key of an object that Kubernetes has stored; nothing if there is none
#
# The stack's members are in /etc/etcd/member.env. It is read when a member has no data yet, and never decides who is a
# member: the cluster's own list does. Every command can be run again after an interruption.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

CLIENT=2379
METRICS=2381
ASK=3       # seconds for one question: a member of a cluster with a majority answers in milliseconds
ANSWER=120  # seconds until a majority must answer, and until a refused change of the members is given up
SYNC=900    # seconds until a new member must have the data: 8 GiB at 10 MiB/s. Project figure
SILENT=60   # seconds that a member which left the stack must be silent: more than a restart takes. Project figure
UNUSED=104857600 # bytes that are not worth a defragmentation: 100 MiB. Project figure
BACKUP=/var/lib/etcd-backup
REMOVED=

DATA=$ROOT/var/lib/etcd
START=$ROOT/etc/etcd/start.env
PKI=$ROOT/etc/etcd/pki
ADMINISTRATOR=$ROOT/etc/kubernetes/admin.conf

say() { printf '%s\n' "$*"; }

die() { # exit code, message
  status=$1
  shift
  say "$*" >&2
  exit "$status"
}

# shellcheck source=/dev/null
. "$ROOT/etc/etcd/member.env"
NAME=$ETCD_NAME
OWN=$ETCD_INITIAL_ADVERTISE_PEER_URLS
DECLARED=$(printf '%s' "$ETCD_INITIAL_CLUSTER" | tr , '\n' | sed 's/^[^=]*=//')

client_of() { printf '%s' "${1%:*}:$CLIENT"; } # peer URL

etcd() { # endpoints, seconds, words of etcdctl
  at=$1
  seconds=$2
  shift 2
  etcdctl --cacert="$PKI/ca.crt" --cert="$PKI/server.crt" --key="$PKI/server.key" --endpoints="$at" \
    --command-timeout="${seconds}s" "$@" </dev/null
}

# Sets LIST to the cluster's own list of members, and VIA to the client URL of a member that gave it. A member without a
# majority gives none. The own member is asked last, because it may have been removed.
find_cluster() {
  for peer in $(printf '%s\n' "$DECLARED" | grep -vxF -- "$OWN") "$OWN"; do
    VIA=$(client_of "$peer")
    if LIST=$(etcd "$VIA" "$ASK" member list 2>/dev/null); then
      return 0
    fi
  done
  return 1
}

# Prints `ID NAME PEERS CLIENTS LEARNER` for each member, with - for what a member that has not started does not have.
members() { printf '%s\n' "$LIST" | awk -F', ' '{ print $1, $3 == "" ? "-" : $3, $4, $5 == "" ? "-" : $5, $6 }'; }

# Sets ID, WHO, CLIENTS and LEARNER of the member with a peer URL. Fails if the list has none.
find_member() { # peer URL
  line=$(members | awk -v url="$1" '{ n = split($3, urls, ","); for (i = 1; i <= n; i++) if (urls[i] == url) print }')
  [ -n "$line" ] || return 1
  read -r ID WHO _ CLIENTS LEARNER <<END
$line
END
}

answers() { [ "$1" != - ] && etcd "$1" "$ASK" endpoint health >/dev/null 2>&1; } # client URLs

# Sets VOTERS to the number of members with a vote, HEALTHY to those that answer, without one, and FAILED to the others.
count() { # peer URL of the member that is left out
  VOTERS=0
  HEALTHY=0
  FAILED=
  while read -r _ who peers clients learner; do
    [ "$learner" = false ] || continue
    VOTERS=$((VOTERS + 1))
    case ",$peers," in *",$1,"*) continue ;; esac
    if answers "$clients"; then
      HEALTHY=$((HEALTHY + 1))
    else
      FAILED="$FAILED $who at $peers"
    fi
  done <<END
$(members)
END
}

majority() { echo $(($1 / 2 + 1)); }

# Before a change of the members. The copy is on this machine, beside the hourly ones, which are removed after a week.
snapshot() {
  owner=
  [ "$(id -u)" -ne 0 ] || owner="--owner=etcd --group=etcd"
  # shellcheck disable=SC2086 # two words or none
  install -d --mode=0700 $owner "$ROOT$BACKUP"
  copy=$ROOT$BACKUP/$(date -u +%Y%m%dT%H%M%SZ).db
  etcd "$VIA" "$SYNC" snapshot save "$copy" >/dev/null 2>&1 || die 1 "etcd's data could not be copied from $VIA"
  [ -z "$owner" ] || chown etcd:etcd "$copy"
  say "copied etcd's data to $copy"
}

# Repeats a change of the members while etcd refuses it: for 5 s after a member has started, it counts as unhealthy.
change() { # words of etcdctl member
  end=$(($(date +%s) + ANSWER))
  until answer=$(etcd "$VIA" 10 member "$@" 2>&1); do
    [ "$(date +%s)" -lt "$end" ] || die 1 "etcd refused \`member $*\`: $answer"
    sleep 2
  done
}

remove() { # after find_member, and after the majority was counted
  [ -z "$REMOVED" ] || die 1 "one member is removed in a run: make sure that the cluster is healthy, then run apply again"
  snapshot
  REMOVED=yes
  change remove "$ID"
  say "removed member $WHO ($ID) from etcd"
}

# Up to 3.5.25, etcd kept its members in a store that 3.6 does not read: there, a promoted member can be a learner again,
# and a removed one a member (https://etcd.io/blog/2025/zombie_members_upgrade/). 3.5.26 repairs both.
accepted() { # version
  case $1 in
  3.5.*[!0-9.]*) return 1 ;;
  3.5.*) [ "${1##*.}" -ge 26 ] ;;
  3.[6-9].* | 3.[1-9][0-9].*) ;;
  *) return 1 ;;
  esac
}
ACCEPTED="3.6, or 3.5.26 or later of 3.5"

has_version() {
  # `command`: etcd itself, not the function
  found=$(command etcd --version 2>/dev/null | awk '/^etcd Version:/ { print $3 }')
  accepted "$found" || die 1 "etcd on this machine is ${found:-not there}: install $ACCEPTED"
}

# Before this machine joins. A member that does not answer has been counted.
require_versions() {
  members | while read -r _ who _ clients _; do
    [ "$clients" != - ] || continue
    found=$(etcd "$clients" "$ASK" endpoint status --write-out=fields 2>/dev/null |
      awk '$1 == "\"Version\"" { gsub(/"/, "", $3); print $3 }')
    [ -z "$found" ] || accepted "$found" || die 1 "member $who runs etcd $found: before a member joins, install $ACCEPTED there"
  done
}

has_data() { [ -d "$DATA/member" ]; }

start_unit() {
  systemctl enable --quiet etcd.service
  systemctl start --no-block etcd.service
}

may_stop() {
  find_cluster || die 1 "etcd has no majority, or its members do not answer: $(say "$DECLARED" | xargs)"
  if ! find_member "$OWN" || [ "$LEARNER" = true ]; then
    return 0
  fi
  count "$OWN"
  if [ "$VOTERS" -eq 1 ]; then
    say "etcd has a single member; while it is stopped there is no API"
  elif [ "$HEALTHY" -lt "$(majority "$VOTERS")" ]; then
    die 1 "etcd needs $(majority "$VOTERS") of $VOTERS members; without this one $HEALTHY are healthy (not:$FAILED)"
  fi
}

is_started() {
  case $(systemctl is-active etcd.service || :) in
  active | activating) systemctl is-enabled --quiet etcd.service && return 0 ;;
  esac
  ! has_data && find_cluster
}

# Several empty members could be a majority of the stack's list, and form a second cluster beside one without majority.
# A member serves its metrics, and no clients, while it waits for its majority.
require_no_data_elsewhere() {
  for peer in $(printf '%s\n' "$DECLARED" | grep -vxF -- "$OWN"); do
    host=${peer#*://}
    if kubectl --kubeconfig=/dev/null --server="http://${host%:*}:$METRICS" --request-timeout="${ASK}s" \
      get --raw=/metrics 2>/dev/null | awk '$1 == "etcd_debugging_mvcc_current_revision" && $2 > 1 { found = 1 }
        END { exit !found }'; then
      die 1 "${host%:*} has the data of a cluster whose majority does not answer. This machine has no data and starts" \
        "no second cluster: start the other members, or restore the cluster (docs/on-call.md)"
    fi
  done
}

start() {
  if ! has_data; then
    if find_cluster; then
      return 0 # step join
    fi
    require_no_data_elsewhere
    printf 'ETCD_INITIAL_CLUSTER_STATE=new\n' >"$START"
  fi
  start_unit
}

votes() {
  has_data && LIST=$(etcd "$(client_of "$OWN")" "$ASK" member list 2>/dev/null) && find_member "$OWN" &&
    [ "$LEARNER" = false ]
}

# Starts the member with exactly the present members: the rendered list is that of a new cluster.
start_existing() {
  present=$(members | awk -v own="$OWN" -v name="$NAME" '{
    n = split($3, urls, ","); who = $2
    for (i = 1; i <= n; i++) if (urls[i] == own) who = name
    for (i = 1; i <= n; i++) printf "%s%s=%s", separator, who == "-" ? $1 : who, urls[i]; separator = ","
  }')
  printf 'ETCD_INITIAL_CLUSTER_STATE=existing\nETCD_INITIAL_CLUSTER=%s\n' "$present" >"$START"
  start_unit
}

add() {
  count "$OWN"
  needed=$(majority $((VOTERS + 1)))
  if [ "$VOTERS" -gt 1 ] && [ "$HEALTHY" -lt "$needed" ]; then
    die 1 "etcd has $VOTERS voting members, $HEALTHY of them are healthy (not:$FAILED). With one more, $needed must be:" \
      "repair the others first, or remove them from the stack"
  fi
  require_versions
  if has_data; then # of a member that was removed while this machine was down
    systemctl stop etcd.service
    mv -- "$DATA/member" "$DATA/removed-$(date -u +%Y%m%dT%H%M%SZ)"
    say "kept the data of the removed member as $DATA/removed-*"
  fi
  snapshot
  change add "$NAME" --peer-urls="$OWN" --learner
  say "added this machine's member to etcd, without a vote"
}

replace_lost() {
  if answers "$CLIENTS"; then
    die 1 "member $WHO of etcd is this machine by its address $OWN, and answers; but this machine has no data. Is this" \
      "the directory of another machine?"
  fi
  count "$OWN"
  if [ "$LEARNER" = false ] && [ "$HEALTHY" -lt "$(majority "$VOTERS")" ]; then
    die 1 "the data of member $WHO is lost, and etcd has no majority without it: $HEALTHY of $VOTERS are healthy" \
      "(not:$FAILED)"
  fi
  say "this machine has lost the data of member $WHO; it is replaced"
  remove
}

# One move towards a vote. What a former run has done is found in the list.
advance() {
  if ! find_member "$OWN"; then
    tidy
    find_cluster || return 0
    add
    find_cluster || return 0
    find_member "$OWN" || return 0
  fi
  if ! has_data; then
    if [ "$CLIENTS" != - ]; then
      replace_lost
      return 0
    fi
    start_existing
    END=$(($(date +%s) + SYNC))
  elif [ "$(systemctl is-active etcd.service || :)" = inactive ]; then
    start_unit
  elif [ "$LEARNER" = true ] && etcd "$VIA" 10 member promote "$ID" >/dev/null 2>&1; then
    say "this machine's member has the data, and a vote"
  fi
}

join() {
  END=$(($(date +%s) + ANSWER))
  until votes; do
    if find_cluster; then
      advance
    fi
    [ "$(date +%s)" -lt "$END" ] || give_up
    sleep 1
  done
  rm -f -- "$START"
}

give_up() {
  find_cluster || die 1 "etcd has no majority: no member answers of $(say "$DECLARED" | xargs). Run apply on the other" \
    "members, then again here; if members are lost for good, see docs/on-call.md"
  die 1 "this machine's member has no vote in etcd yet; see \`journalctl --unit=etcd\`, and run apply again"
}

# Prints the lines of members that are not in the stack and do not answer.
lost_members() {
  members | while read -r id who peers clients learner; do
    if ! printf '%s\n' "$DECLARED" | grep -qxF -- "$peers" && ! answers "$clients"; then
      printf '%s %s %s %s %s\n' "$id" "$who" "$peers" "$clients" "$learner"
    fi
  done
}

is_tidy() { ! find_cluster || [ -z "$(lost_members)" ]; }

tidy() {
  lost=$(lost_members)
  [ -n "$lost" ] || return 0
  read -r ID WHO peers clients LEARNER <<END
$lost
END
  end=$(($(date +%s) + SILENT))
  while [ "$(date +%s)" -lt "$end" ]; do
    if answers "$clients"; then
      say "member $WHO is not in the stack any more, and answers: \`leave\` on its machine removes it"
      return 0
    fi
    sleep 5
  done
  count "$peers"
  if [ "$LEARNER" = false ] && [ "$HEALTHY" -lt "$(majority "$VOTERS")" ]; then
    die 1 "member $WHO left the stack and does not answer, but etcd has no majority without it: $HEALTHY of $VOTERS are" \
      "healthy (not:$FAILED)"
  fi
  remove
  if [ "$WHO" != - ] && [ -f "$ADMINISTRATOR" ]; then
    kubectl --kubeconfig="$ADMINISTRATOR" --request-timeout=30s delete node "$WHO" --ignore-not-found --wait=false
  fi
}

# Sets STAYS if the cluster goes on without this machine's member. Fails if it would lose its majority.
may_leave() {
  STAYS=
  if ! find_cluster; then
    has_data || return 0
    die 3 "etcd has no majority: this machine's member cannot be removed. If the whole cluster is given up, stop etcd and" \
      "remove $DATA/member by hand"
  fi
  find_member "$OWN" || return 0
  count "$OWN"
  if [ "$LEARNER" = false ] && [ "$VOTERS" -eq 1 ]; then
    return 0
  fi
  STAYS=yes
  if [ "$LEARNER" = false ] && [ "$HEALTHY" -lt "$(majority $((VOTERS - 1)))" ]; then
    die 3 "etcd would have no majority without this machine's member: $HEALTHY of $((VOTERS - 1)) others are healthy" \
      "(not:$FAILED)"
  fi
}

leave() {
  may_leave
  if [ -n "$STAYS" ]; then
    remove
  elif [ -n "${LIST-}" ] && find_member "$OWN"; then
    say "this is etcd's last member: the cluster ends with it"
    snapshot
  fi
  systemctl disable --now --quiet etcd.service
  rm -rf -- "$DATA/member" "$START"
}

# Prints a number of this machine's member: DBSize, DBSizeInUse, Leader or MemberID.
status() { printf '%s\n' "$STATUS" | awk -v name="\"$1\"" '$1 == name { print $3; exit }'; }

# Another member leads before this one stops to answer: an election would stop all writes.
pass_leadership() {
  [ "$(status Leader)" = "$(status MemberID)" ] || return 0
  members | while read -r id _ peers clients learner; do
    if [ "$peers" != "$OWN" ] && [ "$learner" = false ] && answers "$clients"; then
      etcd "$(client_of "$OWN")" 10 move-leader "$id"
      break
    fi
  done
}

defragment() {
  may_stop
  own=$(client_of "$OWN")
  STATUS=$(etcd "$own" "$ASK" endpoint status --write-out=fields)
  unused=$(($(status DBSize) - $(status DBSizeInUse)))
  if [ "$unused" -lt "$UNUSED" ] || [ $((unused * 2)) -lt "$(status DBSize)" ]; then
    say "$unused of $(status DBSize) bytes are unused: no defragmentation"
    return 0
  fi
  pass_leadership
  etcd "$own" "$SYNC" defrag
}

stored() { etcd "$(client_of "$OWN")" "$ASK" get --keys-only "/registry/$1"; } # object

case ${1-} in
has-version) has_version ;;
may-stop) may_stop ;;
is-started) is_started ;;
start) start ;;
votes) votes ;;
join) join ;;
is-tidy) is_tidy ;;
tidy) find_cluster && tidy ;;
may-leave) may_leave ;;
leave) leave ;;
defragment) defragment ;;
stored) stored "$2" ;;
*) die 2 "usage: $0 has-version|may-stop|is-started|start|votes|join|is-tidy|tidy|may-leave|leave|defragment|stored PATH" ;;
esac
