"""Whether every read of all accounts of a bank, between which money is moved, adds up to the same total.

The value of an operation with the action `total` is the list of balances that one transaction has read.
"""

from __future__ import annotations

from collections.abc import Iterable

from trials.histories.operation import Anomaly, ClientOperation


def anomalies(history: Iterable[ClientOperation], accounts: int, total: int = 0) -> list[Anomaly]:
    """Returns the anomalies of reads, as Jepsen's bank test names them. `accounts`: number of accounts."""
    reads = [each.value for each in history if each.action == "total" and each.outcome == "ok"]
    wrong = [read for read in reads if len(read) == accounts and sum(read) != total]
    missing = [read for read in reads if len(read) != accounts]
    found = [Anomaly("wrong-total", f"{sum(wrong[0])} instead of {total}", len(wrong))] if wrong else []
    if missing:
        found.append(Anomaly("missing-account", f"{len(missing[0])} of {accounts} accounts", len(missing)))
    return found
