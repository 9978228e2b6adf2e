"""What changed between two previews of a stack, in words: the pure part.

`changes(before, after)` (compare.py) takes the resources of two previews and gives typed changes, each with the order
in which it must happen and what is risky about it. Like the rules, it reads resources and never the plan. What previews
the two sides is in commands/difference.py; documents and the screen are views of the same list.
"""
