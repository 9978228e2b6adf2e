"""The differences between two previews of a stack, in words. This package runs no program.

`changes(before, after)` in compare.py takes the resources of two previews and returns typed changes, each with its
position in the order of work and its risk. Like the rules, it reads resources and never the plan.
commands/difference.py previews the two sides. The documents and the terminal output are views of the same list.
"""
