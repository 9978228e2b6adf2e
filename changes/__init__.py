"""Describes the differences between two previews of a stack, for example before and after a pull request.

`changes(before, after)` in compare.py takes the resources of two previews and returns typed changes, each with its risk
and its position in the order of the work. Like the policy rules, it reads resources and never the plan.
commands/review/difference.py runs the two previews. Documents and terminal output are written from the same list of
changes.
"""
