"""`make drill`: cuts the power of a server of the lab, and reports what clients and quorums noticed."""
