# Makes the directory of a local volume empty, on a file system that takes writes. Values: DIRECTORY, OWNER, MODE, VOLUME.
set -eu
# kubelet mounts the directory for the pod that uses it.
if grep -q "kubernetes.io~local-volume/$VOLUME " /proc/mounts; then
    echo "a pod of this machine still uses it"
    exit 1
fi
install -d -m "$MODE" -o "${OWNER%:*}" -g "${OWNER#*:}" "$DIRECTORY"
# Without other file systems that are mounted below it.
find "$DIRECTORY" -xdev -mindepth 1 -delete
probe=$DIRECTORY/.quorate
echo written >"$probe"
sync "$probe"
rm "$probe"
sync "$DIRECTORY"
echo "$DIRECTORY is empty, and takes writes"
