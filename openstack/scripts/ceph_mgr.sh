# Starts a Ceph manager beside its monitor, with an account that it makes itself as soon as there is a quorum.
secrets=/var/lib/kolla/secrets keyring=/tmp/mgr.keyring
umask 077
printf '[mgr.%s]\n    key = %s\n    caps mon = "allow profile mgr"\n    caps osd = "allow *"\n' \
    "$POD_NAME" "$(cat $secrets/mgr.key)" >$keyring
until timeout 60 ceph auth import -i $keyring; do
    echo "waiting for a quorum of the monitors"
    sleep 2
done
# Metrics of OSDs and health, by the manager that is active. With its cache, it would go on to tell what was before the
# monitors lost their majority. The first manager must be forced: no other has told yet that it has the module.
for command in "config set mgr mgr/prometheus/cache false --force" \
    "config set mgr mgr/prometheus/$POD_NAME/server_addr $POD_IP --force" "mgr module enable prometheus --force"; do
    # shellcheck disable=SC2086
    timeout 60 ceph $command || echo "failed: ceph $command"
done
chown ceph:ceph $keyring
install -d -o ceph -g ceph /run/ceph
# A manager in standby does not handle SIGTERM. As the container's process 1 it would be immune to it.
trap 'kill $!; wait; exit 0' TERM
ceph-mgr --foreground --setuser ceph --setgroup ceph --id "$POD_NAME" --keyring $keyring &
wait $!
