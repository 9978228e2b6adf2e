"""Sound stacks of hand-written resources, judged by every rule: none may report anything."""
