"""What every command says and how it ends: errors, progress, exit codes. Standard library only: the set-up uses it."""
