#!/bin/sh
# Encrypted copies of backups in a bucket of an object store with the API of S3.
#
#   backup-store put NAME DIRECTORY FILE...  stores files of a directory as the copy NAME, such as etcd/master1/20261128T110203Z
#   backup-store list                        prints the names of the complete copies
#   backup-store get NAME DIRECTORY          writes the files of a copy into a directory
#
# STORE (under systemd: CREDENTIALS_DIRECTORY) is a directory with the account (curl.conf), the address of the copies (url),
# the certificate that they are encrypted for (recipient.crt) and, for `get` only, its key (recipient.key).
#
# A copy NAME is the objects NAME/0000, NAME/0001, … and, written last, NAME/complete with their digests. Each part is
# encrypted on its own (CMS, AES-256-GCM), because openssl reads all of a message into memory to decrypt it.
set -eu
LC_ALL=C
SHELL=/bin/sh # with which split runs its filter; systemd sets that of the user, which is no shell
export LC_ALL SHELL
: "${STORE:=${CREDENTIALS_DIRECTORY:?is not set, nor is STORE}}"

PART=64M # bytes of a part, which openssl decrypts in 236 MiB of memory. Project figure; an object of S3 has at most 5 GiB

die() {
  printf 'backup-store: %s\n' "$*" >&2
  exit 1
}

# The account is in a file, because everybody on the machine may read arguments. curl of Debian 12 signs the digest of the
# content only if a header has it.
ask() { # digest of the content, words of curl
  sum=$1
  shift
  curl --disable --config "$STORE/curl.conf" --silent --show-error --retry 3 --connect-timeout 30 \
    --speed-limit 1000 --speed-time 60 --header "x-amz-content-sha256: $sum" "$@"
}

digest_of() { # file
  sum=$(sha256sum <"$1")
  printf '%s' "${sum%% *}"
}

# The body of a refusal says why.
send() { # file, object
  ask "$(digest_of "$1")" --fail-with-body --upload-file "$1" "$URL/$2" >&2
}

fetch() { # object, file
  ask "$(digest_of /dev/null)" --fail --output "$2" "$URL/$1"
}

# Encrypts standard input, and stores it as an object.
part() { # object
  openssl cms -encrypt -binary -stream -outform DER -aes-256-gcm -recip "$STORE/recipient.crt" \
    -keyopt ecdh_kdf_md:sha256 -out "$WORK/part"
  send "$WORK/part" "$1"
  printf '%s  %s\n' "$(digest_of "$WORK/part")" "${1##*/}" >>"$WORK/complete"
}

put() { # name, directory, files
  name=$1
  directory=$2
  shift 2
  : >"$WORK/complete"
  {
    tar --create --directory="$directory" --file=- -- "$@" || : >"$WORK/failed"
  } | split --bytes="$PART" --numeric-suffixes --suffix-length=4 --filter="sh '$0' part \"\$FILE\"" - "$name/"
  [ ! -e "$WORK/failed" ] || die "the files of $name could not be read"
  send "$WORK/complete" "$name/complete"
}

get() { # name, directory
  fetch "$1/complete" "$WORK/complete"
  if ! parts "$1" | tar --extract --directory="$2" --no-same-owner --file=- || [ ! -e "$WORK/whole" ]; then
    die "$1 was not fetched, decrypted and unpacked completely"
  fi
}

# Writes the content of a copy to standard output. What openssl writes is only of the copy if it succeeds, because it
# compares at the end.
parts() { # name
  while read -r digest number; do
    fetch "$1/$number" "$WORK/part" || return
    [ "$(digest_of "$WORK/part")" = "$digest" ] || die "$1/$number has other content than when it was stored"
    openssl cms -decrypt -binary -inform DER -in "$WORK/part" -recip "$STORE/recipient.crt" \
      -inkey "$STORE/recipient.key" -out "$WORK/content" ||
      die "$1/$number was not decrypted: it is of another stack, of this one with another root secret, or was changed"
    cat "$WORK/content"
  done <"$WORK/complete"
  : >"$WORK/whole"
}

# An answer has at most 1000 objects; the next one begins after the last of them.
list() {
  prefix=${URL##*/}
  last=$prefix/
  more=true
  while [ "$more" = true ]; do
    query="marker=$(escaped "$last")&prefix=$(escaped "$prefix/")"
    found=$(ask "$(digest_of /dev/null)" --fail "${URL%/*}?$query" | tr '<' '\n')
    more=$(printf '%s\n' "$found" | sed -n 's/^IsTruncated>//p')
    last=$(printf '%s\n' "$found" | sed -n 's/^Key>//p' | tail -n 1)
    case $more/$last in
    false/* | true/?*) printf '%s\n' "$found" | sed -n "s|^Key>$prefix/\\(.*\\)/complete\$|\\1|p" ;;
    *) die "$URL did not answer with a list of objects" ;;
    esac
  done
}

# Names have no other character that an address must not have.
escaped() { printf '%s' "$1" | sed 's|/|%2F|g'; }

URL=$(cat "$STORE/url")
if [ "${1-}" = part ]; then
  part "$2"
  exit
fi
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT TERM
case ${1-} in
put | list | get) "$@" ;;
*) die "usage: $0 put NAME DIRECTORY FILE...|list|get NAME DIRECTORY" ;;
esac
