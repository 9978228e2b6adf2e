"""Shell text, parsed: which programs it runs, with which arguments, on which machines, and after which checks."""
