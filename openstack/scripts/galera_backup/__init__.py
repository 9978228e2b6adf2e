"""The program that backs up a member of Galera, tests backups, and restores the member's data from one.

Runs in jobs that mount the data of one member. It is separate from the program that runs the member, so that a change
of this program restarts no member. It uses only the standard library, because it runs in the image of the database, as
the user that owns the data.
"""
