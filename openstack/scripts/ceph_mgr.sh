# Starts a Ceph manager beside its monitor, with an account that it makes itself as soon as there is a quorum.
secrets=/var/lib/kolla/secrets keyring=/tmp/mgr.keyring
umask 077
printf '[mgr.%s]\n    key = %s\n    caps mon = "allow profile mgr"\n    caps osd = "allow *"\n' \
    "$POD_NAME" "$(cat $secrets/mgr.key)" >$keyring
until timeout 60 ceph auth import -i $keyring; do
    echo "waiting for a quorum of the monitors"
    sleep 2
done
chown ceph:ceph $keyring
install -d -o ceph -g ceph /run/ceph
# A manager in standby does not handle SIGTERM. As the container's process 1 it would be immune to it.
trap 'kill $!; wait; exit 0' TERM
ceph-mgr --foreground --setuser ceph --setgroup ceph --id "$POD_NAME" --keyring $keyring &
wait $!
