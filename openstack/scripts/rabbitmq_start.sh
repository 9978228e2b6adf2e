#!/bin/sh
# Starts a member of RabbitMQ. One that has lost its data is still counted by the others, and they refuse it as
# "inconsistent_cluster": while it joins for the first time, it asks them to forget what it was. One whose disk is full
# makes all members block publishers: it ends as soon as the others are enough without it.
set -eu
data=${RABBITMQ_DATA:-/var/lib/rabbitmq} configuration=${RABBITMQ_CONFIGURATION:-/etc/rabbitmq}
pause=${RABBITMQ_PAUSE:-5} grace=${RABBITMQ_GRACE:-60} settle=${RABBITMQ_SETTLE:-30}
# shellcheck source=/dev/null
. "$configuration/rabbitmq-env.conf"

# RabbitMQ ends if its own name has no address, as when the cluster's DNS starts at the same time after a power cut.
# Each end would double kubelet's delay before the next start.
await_name() {
    until getent hosts "${NODENAME#*@}" >/dev/null; do
        [ -n "${waits:-}" ] || echo "waits for an address of ${NODENAME#*@}" >&2
        waits=yes
        sleep 2
    done
}

# Runs a command of rabbitmqctl on the first other member of the list that answers.
elsewhere() {
    sed -n 's/^cluster_formation\.classic_config\.nodes\.[0-9]* *= *//p' "$configuration/rabbitmq.conf" |
        while read -r peer; do
            [ "$peer" != "$NODENAME" ] || continue
            rabbitmqctl --quiet --longnames --timeout 20 --node "$peer" "$@" </dev/null 2>/dev/null && break
        done
}

# Prints the bytes of free disk below which RabbitMQ blocks publishers. Of its units, kB, MB and GB are of 1000, others of
# 1024 (rabbit_resource_monitor_misc.erl).
disk_limit() {
    awk '
        /^disk_free_limit\.absolute *=/ {
            text = $0; sub(/^[^=]*= */, "", text); bytes = text + 0
            unit = tolower(text); sub(/^[0-9]+/, "", unit)
            power = index("kmg", substr(unit, 1, 1)); base = unit ~ /^[kmg]b *$/ ? 1000 : 1024
            for (; unit != "" && power > 0; power--) bytes *= base
        }
        END { printf "%.0f", bytes ? bytes : 50000000 }
    ' "$configuration/rabbitmq.conf"
}

# Whether the disk has less space than RabbitMQ's limit.
full() { [ "$(df --output=avail --block-size=1 "$data" | tail -n 1)" -lt "$(disk_limit)" ]; }

# Whether the other members go on without this one: they all run, are a majority, none has an alarm, and each has twice
# the space of its limit. Messages fill the disks of all members, so that members that are full of them do not end.
dispensable() {
    [ "$(elsewhere eval "
        All = rabbit_nodes:list_members(), Others = All -- ['$NODENAME'],
        Alarms = [Node || {{resource_limit, _, Node}, _} <- rabbit_alarm:get_alarms(), Node =/= '$NODENAME'],
        Has = fun(Node) ->
            Asked = fun(What) -> rpc:call(Node, rabbit_disk_monitor, What, [], 5000) end,
            case {Asked(get_disk_free), Asked(get_disk_free_limit)} of
                {Free, Limit} when is_integer(Free), is_integer(Limit) -> Free >= 2 * Limit;
                _ -> false
            end
        end,
        length(Others) * 2 > length(All) andalso Others -- rabbit_nodes:list_running() =:= []
            andalso Alarms =:= [] andalso lists:all(Has, Others).
    ")" = true ]
}

# Its log may have failed for good while the disk was full: a member then accepts clients and delivers nothing to them,
# also after there is space again. Only a new start mends that. `$1`: process that runs RabbitMQ.
end_when_full() {
    was_full=
    while sleep "$pause" && kill -0 "$1" 2>/dev/null; do
        ! full || was_full=yes
        if [ "$was_full" ] && dispensable; then
            echo "ends because its disk was full: the other members go on" >&2
            kill -TERM "$1"
            sleep "$grace"
            ! kill -0 "$1" 2>/dev/null ||
                rabbitmqctl --quiet --longnames --node "$NODENAME" eval "erlang:halt(1, [{flush, false}])." || true
        fi
    done
}

# A member without space waits, so that it does not make the others block publishers again.
await_space() {
    while full && dispensable; do
        [ -n "${needs:-}" ] || echo "waits for space on the disk of $data" >&2
        needs=yes
        sleep "$pause"
    done
}

join() {
    until rabbitmqctl --quiet --longnames --node "$NODENAME" await_startup --timeout 30 2>/dev/null; do
        elsewhere forget_cluster_node "$NODENAME" || true
    done
    # RabbitMQ syncs neither its feature flags nor its virtual hosts: for half a minute, a power cut would leave these files
    # empty, and the member would not start. Until they are on the disk, it is a member that may join again.
    sync --file-system "$data"
    rm "$data/joining"
    sync --file-system "$data"
}

# RabbitMQ adds replicas of quorum queues to a member that came later, and none of streams: after two members were
# replaced one after the other, a stream would have lost its majority for good. A stream with a replica that lags accepts
# no further one, so that the member asks again.
add_stream_replicas() {
    while sleep "$settle" && kill -0 "$1" 2>/dev/null; do
        lacking=$(rabbitmqctl --quiet --longnames --timeout 120 --node "$NODENAME" eval "
            Lacking = [amqqueue:get_name(Queue) || Queue <- rabbit_amqqueue:list(),
                       amqqueue:get_type(Queue) =:= rabbit_stream_queue,
                       [{members, Members}] <- [rabbit_amqqueue:info(Queue, [members])],
                       not lists:member(node(), Members)],
            [rabbit_stream_queue:add_replica(Host, Name, node()) || {resource, Host, queue, Name} <- Lacking],
            length(Lacking).
        " 2>/dev/null) || continue
        [ "$lacking" != 0 ] || return 0
        echo "adds its replicas of $lacking streams" >&2
    done
}

await_name
await_space
end_when_full $$ &
add_stream_replicas $$ &
# A member that has not joined yet holds nothing that the cluster depends on: an attempt that did not end is undone.
[ -d "$data/mnesia" ] && [ ! -e "$data/joining" ] || {
    rm -rf "$data/mnesia"
    touch "$data/joining"
    join &
}
exec rabbitmq-server
