"""Valid stacks of hand-written resources, evaluated by every rule: none may report anything."""
