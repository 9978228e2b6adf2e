#!/bin/sh
# Starts a member of RabbitMQ. One that has lost its data is still counted by the others, and they refuse it as
# "inconsistent_cluster": while it joins for the first time, it asks them to forget what it was.
set -eu
data=${RABBITMQ_DATA:-/var/lib/rabbitmq} configuration=${RABBITMQ_CONFIGURATION:-/etc/rabbitmq}
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

forget() {
    sed -n 's/^cluster_formation\.classic_config\.nodes\.[0-9]* *= *//p' "$configuration/rabbitmq.conf" |
        while read -r peer; do
            [ "$peer" != "$NODENAME" ] || continue
            rabbitmqctl --quiet --longnames --timeout 20 --node "$peer" \
                forget_cluster_node "$NODENAME" </dev/null 2>/dev/null && break
        done
}

join() {
    until rabbitmqctl --quiet --longnames --node "$NODENAME" await_startup --timeout 30 2>/dev/null; do
        forget || true
    done
    # RabbitMQ syncs neither its feature flags nor its virtual hosts: for half a minute, a power cut would leave these files
    # empty, and the member would not start. Until they are on the disk, it is a member that may join again.
    sync --file-system "$data"
    rm "$data/joining"
    sync --file-system "$data"
}

await_name
# A member that has not joined yet holds nothing that the cluster depends on: an attempt that did not end is undone.
[ -d "$data/mnesia" ] && [ ! -e "$data/joining" ] || {
    rm -rf "$data/mnesia"
    touch "$data/joining"
    join &
}
exec rabbitmq-server
