"""The program that backs up a member of Galera, and restores the member's data from a backup.

Runs in jobs that mount the data of one member, apart from the program that runs the member: a change of this one
restarts no member. Standard library only: it runs in the image of the database, as the user that owns the data.
"""
