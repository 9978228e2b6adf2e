"""The question to a member of RabbitMQ about its replicated queues: quorum queues, and streams.

`quorate status` and the masters' metrics ask it. A process's calls to all processes of a kind go through a stream, from
the replica on the member to which each is connected.

RabbitMQ's Prometheus plugin does not tell how many replicas of a queue run
(https://github.com/rabbitmq/rabbitmq-server/issues/13203), and the names of its metrics about them changed in 4.2.
"""

from __future__ import annotations

REPLICAS = 3
"""Replicas of a quorum queue in a cluster of as many members: RabbitMQ's default, and the number to which it adds them
again (https://www.rabbitmq.com/docs/quorum-queues#replication-factor). A stream has one on each member."""

# One start of Erlang for all vhosts, where `list_queues` needs one for each.
COUNT = f"""\
Running = rabbit_nodes:list_running(),
Wanted = min({REPLICAS}, length(rabbit_nodes:list_members())),
Get = fun(Key, Info) -> case lists:keyfind(Key, 1, Info) of {{_, Found}} -> Found; _ -> [] end end,
Length = fun(Found) when is_list(Found) -> length(Found); (_) -> 0 end,
All = [rabbit_amqqueue:info(Queue, [name, leader, members, online])
       || Queue <- rabbit_amqqueue:list(),
          lists:member(amqqueue:get_type(Queue), [rabbit_quorum_queue, rabbit_stream_queue])],
Has = fun(Info) -> {{Length(Get(online, Info)), Length(Get(members, Info))}} end,
Lost = [list_to_binary(rabbit_misc:rs(Get(name, Info)))
        || Info <- All, {{Online, Members}} <- [Has(Info)], Online =< Members div 2],
Reduced = [1 || Info <- All, {{Online, Members}} <- [Has(Info)], Online < max(Members, Wanted)],
Needs = fun(Node, Info) ->
          {{Online, Members}} = Has(Info),
          Members > 1 andalso lists:member(Node, Get(online, Info)) andalso 2 * (Online - 1) =< Members
              andalso 2 * Online > Members
        end,
Critical = [{{Node, length([1 || Info <- All, Needs(Node, Info)])}} || Node <- Running],
Led = [{{Node, length([1 || Info <- All, Get(leader, Info) =:= Node])}} || Node <- Running],
#{{all => length(All), lost => length(Lost), named => lists:sublist(Lost, 5), reduced => length(Reduced),
  critical => maps:from_list(Critical), led => maps:from_list(Led)}}."""
"""Counts all replicated queues, those without a majority of their replicas (`lost`, with a few names) and those with
fewer replicas that run than they should have (`reduced`), and for each member the queues that would lose their majority
without it (`critical`), and those that it leads (`led`)."""

OF_MAJORITY = f"""\
true = 2 * length(rabbit_nodes:list_running()) > length(rabbit_nodes:list_members()),
{COUNT}"""
"""The same, but a member without a majority of the others fails: of the others' replicas it knows nothing."""
