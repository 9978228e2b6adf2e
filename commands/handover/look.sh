# Says what the machine of a handover has, one fact a line, for commands/handover/destination.py. Reads only.
# $1: the clone's directory there, $2: a file with a passphrase, or nothing. DIGEST: the SHA-256 of that file here.
path=$1 file=$2

for program in rsync make git; do
    command -v "$program" >/dev/null 2>&1 && echo "has $program"
done
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "has python"; break; }
done

# Sets `place` to the nearest directory of a path that exists, and fails if this login cannot write there.
can_make() {
    place=$1
    while [ ! -e "$place" ]; do place=$(dirname "$place"); done
    [ -d "$place" ] && [ -w "$place" ]
}

can_make "$path" && echo "writable $place"
echo "free $(df -Pk "$place" | awk 'NR == 2 {print $4}')"
echo "boot $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
if [ -e "$path" ]; then
    echo "inode $(stat -c %d:%i "$path")"
    if [ -f "$path/build/.state/handover.json" ]; then
        echo "record $(tr -d '\n' <"$path/build/.state/handover.json")"
    else
        ls -A "$path" 2>/dev/null | head -n 1 | sed 's/^/other /'
    fi
    echo "used $(du -sk "$path" | cut -f 1)"
fi
if [ -n "$file" ] && [ -e "$file" ]; then
    [ "$(sha256sum <"$file" | cut -d ' ' -f 1)" = "$DIGEST" ] && echo "passphrase same" || echo "passphrase other"
elif [ -n "$file" ]; then
    can_make "$(dirname "$file")" || echo "passphrase denied"
fi
echo end
