#!/bin/sh
# Makes the SSH host key of a machine that Ironic will deploy, and the user data that gives it to the machine.
# docs/openstack.md, "A machine that Ironic deployed becomes a compute", says what is in the variables.
# Writes $name.pub, the line for the stack file, and $name.yaml, which has the private key.
set -eu
: "${name:?} ${mac:?} ${address:?} ${gateway:?} ${nameserver:?} ${login:?}"
for file in "$name" "$name.pub" "$name.yaml"; do
  [ ! -e "$file" ] || { echo "$file is there already: remove it, or use another directory" >&2; exit 1; }
done
umask 077
key=$(cat "$login")
ssh-keygen -q -t ed25519 -N "" -C "$name" -f "$name"
cat >"$name.yaml" <<END
#cloud-config
hostname: $name
disable_root: false
ssh_pwauth: false
ssh_deletekeys: true
users: [{name: root, ssh_authorized_keys: ["$key"]}]
ssh_keys:
  ed25519_public: $(cat "$name.pub")
  ed25519_private: |
$(sed 's/^/    /' "$name")
write_files:
  # A server of the stack keeps its address also while no DHCP agent of the cloud answers.
  - path: /etc/systemd/network/05-management.network
    content: |
      [Match]
      MACAddress=$mac

      [Network]
      Address=$address
      Gateway=$gateway
      DNS=$nameserver
runcmd: [[networkctl, reload]]
END
rm "$name"
