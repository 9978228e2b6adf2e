"""Commands that run a stack on a control plane, in containers or on this machine, and disturb it."""
