"""The program that runs mariadbd in the pods of the database.

Each member answers over HTTP what it knows (`/position`) and how it is (`/ready`, `/alive`), from its start to its end.
Standard library only: it runs in the image of the database, as the user that owns the data.
"""
