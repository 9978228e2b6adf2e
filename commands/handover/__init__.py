"""`quorate handover`: moves the clone, with states and secrets, to another machine, which is then in charge."""
