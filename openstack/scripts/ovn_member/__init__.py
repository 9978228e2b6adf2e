"""Runs a member of an OVN database: `python3 -m ovn_member run`. `python3 -m ovn_member ready` is its readiness probe.

ovsdb-server starts without the database and answers the other members at the port `peers`. A member with data serves
it. A member without data joins the cluster that another member belongs to. The first member creates the cluster, but
only while every other member answers that it has no data either: a second cluster is never created beside one whose
members do not answer. A member with data is silent until it serves them: an answer without a cluster says that it has
none. The leader removes (`cluster/kick`) each identity that its member has lost with its volume.

A member that went on alone after the others were lost for good is a new cluster, whose database names the former one
(ovn_survivor.py). A member of the former one that reaches it puts its data aside, and joins.
"""
