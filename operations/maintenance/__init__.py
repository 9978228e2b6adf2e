"""Takes a server, a machine or a part of a pool out of a running cloud for maintenance, and back."""
