"""The rules, one family a file. A rule that is defined in one of these files is part of the pack (catalogue.py).

To add one: write it under `@rule` in its family, give it a case of each verdict in tests/policy/tables (the tests say
which are missing), name it in policy/requirements under the sentence that it comes from, and run `python -m
policy.catalogue` for the pages in docs/. A rule's id is never used again.
"""
