"""What a command shows of a Pulumi run: its progress, its changes, its messages and its findings."""
