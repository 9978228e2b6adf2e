"""The rules of the policy pack, with one module for each family of rules. catalogue.py lists the modules.

To add a rule: define its check function with the decorator `@rule` in a module, add a test case for each verdict in
tests/policy/tables (the tests report missing cases), name the rule in policy/requirements under the requirement that it
evaluates, and run `python -m policy.catalogue` to update the pages in docs/. Do not reuse the id of a removed rule.
"""
