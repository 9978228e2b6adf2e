"""Limits from which backups, certificates and disks are named: by alerts, `quorate status` and `quorate doctor`."""

from __future__ import annotations

from datetime import timedelta

ETCD_BACKUP = timedelta(hours=2)
"""Age of etcd's newest copy on a machine from which it is late. The timer makes one every hour, up to 10 minutes later;
the rest is for the copy itself, and for a timer that was due while the machine booted. Project figure."""
ETCD_COPY = timedelta(hours=3)
"""Age of the newest copy of etcd's backups in an object store, of each machine, from which it is late: a backup every
hour, up to 10 minutes later; the rest is for its way, and for one that failed. Project figure."""
ETCD_TEST = timedelta(hours=31)
"""Age of the last restored test of etcd's copies on a machine from which it is late. The timer makes one every day, up
to 6 hours later; the rest is for the test itself. Project figure."""
COPY_TEST = timedelta(days=31)
"""Age of the last restored test of a copy in an object store from which it is late: once a month, by whoever has the
key. Project figure."""

CERTIFICATE = timedelta(days=30)
"""Time before the end of a certificate of a machine from which it is named. kubelet renews its own before: after 70 to
90 % of a year (https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/). Project figure."""
ENTRY = timedelta(days=14)
"""The same for a certificate of the cloud's entry. Programs that renew those of 90 days do so when 30 days are left
(https://cert-manager.io/docs/usage/certificate/), which is no reason for an alert. Project figure."""
SOON = timedelta(days=7)
"""Time before a certificate's end from which its alert is critical. Project figure."""

FULL = 85
"""Percentage of a disk's use from which it is named. kubelet evicts pods at 90 %, or at 85 % if images have a disk of
their own (https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/). Project figure."""
