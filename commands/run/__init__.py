"""What an engineer sees of a run of Pulumi: progress, changes, messages, findings, and its log."""
