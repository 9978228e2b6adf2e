"""Commands that read or change what runs: machines, virt hosts and the cluster of a live stack."""
