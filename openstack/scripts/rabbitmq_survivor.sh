#!/bin/sh
# Tells what a member of RabbitMQ has, and lets it go on alone after the others were lost for good.
# `sh -c TEXT sh look` prints a JSON object, and when the logs of its quorum queues were last written (seconds since
# 1970); `sh -c TEXT sh go-on` removes the others from its metadata store and from its queues, whose messages it keeps.
set -eu
data=${RABBITMQ_DATA:-/var/lib/rabbitmq}

limit=30 # seconds that an answer may take

ask() { rabbitmqctl --quiet --timeout "$limit" "$@" </dev/null; }

# A member that has paused, with its metadata in Mnesia, cannot list its queues.
look() {
    ask eval --formatter=json "
        Texts = fun(Nodes) -> [atom_to_binary(Node) || Node <- Nodes] end,
        Queues = case catch rabbit_amqqueue:list() of Found when is_list(Found) -> Found; _ -> [] end,
        Number = fun(Type) -> length([Queue || Queue <- Queues, amqqueue:get_type(Queue) =:= Type]) end,
        #{khepri => catch rabbit_khepri:is_enabled(),
          listed => Texts(rabbit_nodes:list_members()), running => Texts(rabbit_nodes:list_running()),
          quorum => Number(rabbit_quorum_queue), streams => Number(rabbit_stream_queue)}.
    " | tr -d '\n'
    echo
    find "$data" -path '*/quorum/*.wal' -printf '%T@\n' | sort -n | tail -n 1
}

# A store that is not Khepri has no such step, and members that run beside this one would be cut off.
require_alone() {
    khepri=$(ask eval "catch rabbit_khepri:is_enabled().")
    [ "$khepri" = true ] || {
        echo "its metadata are in Mnesia, not in Khepri" >&2
        return 1
    }
    alone=$(ask eval "rabbit_nodes:list_running() =:= [node()].")
    [ "$alone" = true ] || {
        echo "it does not run alone" >&2
        return 1
    }
}

# Deletes the streams that other members have replicas of, and prints how many of them are left. A stream without a
# majority of its replicas cannot be made smaller; what is in it are copies of messages that every consumer was to read
# for itself.
delete_streams() {
    ask eval "
        Streams = [Queue || Queue <- rabbit_amqqueue:list(), amqqueue:get_type(Queue) =:= rabbit_stream_queue,
                            [{members, Members}] <- [rabbit_amqqueue:info(Queue, [members])], Members =/= [node()]],
        [rabbit_amqqueue:delete(Queue, false, false, <<\"quorate\">>) || Queue <- Streams],
        length([Queue || Queue <- Streams, rabbit_amqqueue:exists(amqqueue:get_name(Queue))]).
    "
}

# The coordinator of streams is a Raft cluster of its own. While it tries to start the replicas that were lost, it may
# not delete a stream.
go_on() {
    require_alone
    limit=1200 # a broker has thousands of queues
    ask force_standalone_khepri_boot
    ask eval "rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member()." >/dev/null
    ask eval "
        whereis(rabbit_stream_coordinator) =:= undefined orelse
            ra_server_proc:force_shrink_members_to_current_member({rabbit_stream_coordinator, node()}).
    " >/dev/null
    for attempt in $(seq 12); do
        if left=$(delete_streams) && [ "$left" = 0 ]; then
            return 0
        fi
        sleep 5
    done
    echo "${left:-some} streams without a majority are not deleted after $attempt attempts" >&2
    return 1
}

case $1 in
look) look ;;
go-on) go_on ;;
esac
