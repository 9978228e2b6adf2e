"""Changes of a living cloud that one update cannot make, and what they ask its quorums first."""
