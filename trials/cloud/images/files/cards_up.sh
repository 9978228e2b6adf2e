#!/bin/sh
# Sets cards of guests up that are down: libvirt and the userspace datapath of Open vSwitch read and write the flags of
# a new card at the same time, and one may undo that the other has set it up. It reports that it cannot find a card that
# is deleted, because libvirt sets that down before.
ip monitor link | while read -r _ card flags _; do
    case $card$flags in
    tap*PROMISC,UP*) ;;
    tap*PROMISC*) ip link set "${card%:}" up ;;
    esac
done
