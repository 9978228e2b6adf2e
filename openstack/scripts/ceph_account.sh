#!/bin/sh
# Makes an account of Ceph, with its current key and rights, and the pools named as arguments. Changes nothing twice.
set -eu
ceph auth import -i /etc/ceph/account.keyring
for pool in "$@"; do
    ceph osd pool ls | grep -qx "$pool" || ceph osd pool create "$pool"
    ceph osd pool application enable "$pool" rbd
done
