"""Facts of machines: files, commands, virtual machines, and the members that they start."""
