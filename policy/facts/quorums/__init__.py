"""Facts of quorums: which workloads form one, their members, peers and settings."""
