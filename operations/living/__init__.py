"""The living quorums of a cloud, read by their own programs, and what may be taken away from them now.

One module a kind of quorum: the questions that its members are asked, and a pure function from their answers to the
state. Who asks decides how: in a pod, over SSH, or in a test bed.
"""
