#!/bin/sh
# When backups and their tests last succeeded, which replicas of services are ready, and what quorums say, for alerts.
#
#   master-metrics etcd                           copies of etcd's data on this machine
#   master-metrics cronjobs NAMESPACE             CronJobs of a namespace
#   master-metrics copies NAMESPACE DATABASE...   restored tests of copies in the object store
#   master-metrics workloads NAMESPACE            Deployments and StatefulSets of a namespace
#   master-metrics nodes                          conditions of nodes
#   master-metrics rabbitmq NAMESPACE CLUSTER...  replicated queues of RabbitMQ clusters
#
# Each writes one file into /var/lib/quorate/metrics, which node-exporter reads. The file gets its name when it is complete;
# if something fails, the previous one stays. Times are in seconds since 1970.
set -eu
LC_ALL=C
export LC_ALL
: "${ROOT=}"

METRICS=$ROOT/var/lib/quorate/metrics
BACKUP=$ROOT/var/lib/etcd-backup
TIMER=$ROOT/etc/systemd/system/etcd-backup.timer
COPY=$ROOT/etc/systemd/system/etcd-backup-copy.service

etcd() {
  oldest=
  newest=
  for file in "$BACKUP"/[0-9]*T[0-9]*Z.db; do
    [ -e "$file" ] || continue
    newest=$(basename "$file" .db)
    : "${oldest:=$newest}"
  done
  # Before the first copy or test, the time from which on there should have been one.
  begun=$(stat -c %Y "$TIMER")
  success etcd-backup "$(at "$newest" "$begun")"
  success etcd-backup-test "$(at "$(told last-test)" "$(at "$oldest" "$begun")")"
  [ ! -e "$COPY" ] || success etcd-backup-copy "$(at "$(told last-copy)" "$(stat -c %Y "$COPY")")"
  failed=$(told failed-test)
  [ -z "$failed" ] || failure etcd-backup-test "$(at "$failed" 0)"
}

# Prints the time in a file that the test of etcd's copies, or what puts them into an object store, writes.
told() { # name of the file
  [ ! -e "$BACKUP/$1" ] || sed -n 's/^[a-z]* \([0-9TZ]*\).*/\1/p' "$BACKUP/$1"
}

# Prints a time in a name of a copy, such as 20261125T120000Z.
at() { # time, what to print if there is none
  if [ -z "$1" ]; then
    printf '%s' "$2"
  else
    date -u -d "$(printf '%s' "$1" | sed 's/^\(....\)\(..\)\(..\)T\(..\)\(..\)\(..\)Z$/\1-\2-\3 \4:\5:\6/')" +%s
  fi
}

success() { printf 'quorate_schedule_success_timestamp_seconds{schedule="%s"} %s\n' "$1" "$2"; }
failure() { printf 'quorate_schedule_failure_timestamp_seconds{schedule="%s"} %s\n' "$1" "$2"; }

# Each CronJob or Job, followed by when it succeeded or failed.
CRONJOBS='{{range .items}}schedule {{.metadata.name}} {{.metadata.creationTimestamp}} {{if .spec.suspend}}1{{else}}0{{end}}
{{with .status.lastSuccessfulTime}}Complete {{.}}
{{end}}{{end}}'
JOBS='{{range .items}}job{{range .metadata.ownerReferences}} {{.name}}{{end}}{{with .metadata.annotations}}{{/*
*/}}{{with index . "quorate.io/action"}} {{.}}{{end}}{{end}}
{{range .status.conditions}}{{if eq .status "True"}}{{.type}} {{.lastTransitionTime}}
{{end}}{{end}}{{end}}'

kube() { kubectl --kubeconfig="$ROOT/etc/kubernetes/admin.conf" --request-timeout=30s --namespace="$NAMESPACE" "$@"; }

cronjobs() { # namespace
  NAMESPACE=$1
  schedules=$(kube get cronjobs -o go-template="$CRONJOBS")
  jobs=$(kube get jobs -o go-template="$JOBS")
  # Jobs of `quorate action` count too, of which a CronJob does not know. Times of one form compare as words do.
  latest=$(printf '%s\n%s\n' "$schedules" "$jobs" | awk '
    $1 == "schedule" { made[$2] = $3; print "suspended", $2, $4 }
    $1 == "schedule" || $1 == "job" { name = $2 }
    $1 == "Complete" { if ($2 > done[name]) done[name] = $2 }
    $1 == "Failed" { if ($2 > lost[name]) lost[name] = $2 }
    END {
      for (name in made) print "success", name, done[name] ? done[name] : made[name]
      for (name in made) if (lost[name]) print "failure", name, lost[name]
    }')
  while read -r what name value; do
    case $what in
    suspended) printf 'quorate_schedule_suspended{schedule="%s"} %s\n' "$name" "$value" ;;
    success | failure) "$what" "$name" "$(date -u -d "$value" +%s)" ;;
    esac
  done <<END
$latest
END
}

# shellcheck disable=SC2016 # $key and $said are the template's
COPY_TESTS='{{range $key, $said := .data}}{{$key}} {{$said}}
{{end}}'

# What `quorate copies --test` has recorded. A database of which no copy was restored yet has the time 0.
copies() { # namespace, names of databases
  NAMESPACE=$1
  shift
  said=$(kube get configmap quorate-copy-tests --ignore-not-found -o go-template="$COPY_TESTS")
  for of in "$@"; do
    success "$of-copy-test" "$(date -u -d "$(recorded "$of.restored" @0)" +%s)"
    failed=$(recorded "$of.failed" '')
    [ -z "$failed" ] || failure "$of-copy-test" "$(date -u -d "$failed" +%s)"
  done
}

# Prints the time of a record such as `etcd.restored 2026-11-29T05:00:00Z etcd/master1/20261129T043312Z`.
recorded() { # key, what to print if there is none
  printf '%s\n' "$said" | awk -v key="$1" -v time="$2" '$1 == key { time = $2 } END { print time }'
}

WORKLOADS='{{range .items}}quorate_workload_replicas{workload="{{.metadata.name}}"} {{.spec.replicas}}
quorate_workload_ready_replicas{workload="{{.metadata.name}}"} {{or .status.readyReplicas 0}}
{{end}}'

workloads() { # namespace
  NAMESPACE=$1
  kube get deployments,statefulsets -o go-template="$WORKLOADS"
}

NODES='{{range .items}}node {{.metadata.name}}
{{range .status.conditions}}{{.type}} {{.status}}
{{end}}{{end}}'

# Conditions that are as they should not be: a node that is not Ready, and every other one that holds.
nodes() {
  NAMESPACE=default
  found=$(kube get nodes -o go-template="$NODES")
  printf '%s\n' "$found" | awk '
    function bad(condition) { printf "quorate_node_condition{node=\"%s\",condition=\"%s\"} 1\n", node, condition }
    $1 == "node" { node = $2; next }
    $1 == "Ready" { if ($2 != "True") bad("NotReady"); next }
    $2 == "True" { bad($1) }'
}

pods_of() { # workload
  kube get pods --selector=app.kubernetes.io/name="$1" --field-selector=status.phase=Running -o name
}

# Prints what a command says in the first pod where it succeeds; fails if it does in none.
first() { # pods, container, command
  pods=$1
  container=$2
  shift 2
  for pod in $pods; do
    ! said=$(kube exec "$pod" --container="$container" -- timeout 20 "$@") || {
      printf '%s\n' "$said"
      return
    }
  done
  return 1
}

# Prints the number of a key in JSON; a quote in a name there is written \".
number() { # key, JSON
  printf '%s\n' "$2" | sed -n "s/.*\"$1\": *\([0-9][0-9]*\).*/\1/p"
}

# A member without a majority fails.
rabbitmq() { # namespace, names of clusters
  NAMESPACE=$1
  shift
  question=$(cat "$ROOT/usr/local/lib/quorate/quorum-queues")
  for cluster in "$@"; do
    members=$(pods_of "$cluster")
    said=$(first "$members" rabbitmq rabbitmqctl --quiet --timeout 15 eval --formatter=json "$question") || said=
    answers=0
    for kind in all lost reduced; do
      count=$(number "$kind" "$said")
      [ -z "$count" ] || {
        printf 'quorate_rabbitmq_queues{cluster="%s",kind="%s"} %s\n' "$cluster" "$kind" "$count"
        answers=1
      }
    done
    printf 'quorate_rabbitmq_answers{cluster="%s"} %s\n' "$cluster" "$answers"
  done
}

case ${1-} in
etcd | cronjobs | copies | workloads | nodes | rabbitmq) ;;
*)
  printf '%s\n' "usage: $0 etcd|nodes|{cronjobs|workloads} NAMESPACE|{copies|rabbitmq} NAMESPACE NAME..." >&2
  exit 2
  ;;
esac
umask 022
mkdir -p "$METRICS"
"$@" >"$METRICS/$1.new"
mv "$METRICS/$1.new" "$METRICS/$1.prom"
