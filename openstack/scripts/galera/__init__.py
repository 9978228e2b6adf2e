"""The program that runs mariadbd in the pods of Galera, and decides which member bootstraps the cluster.

From its start to its end, each member serves its position (`/position`) and its state (`/ready`, `/alive`) over HTTP.
The program uses only the standard library, because it runs in the image of the database, as the user that owns the
data.
"""
