"""The rules, one family a file. A rule that stands in one of these files is part of the pack (catalogue.py)."""
