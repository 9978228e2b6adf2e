# Sends packets to other machines, and prints those that do not answer: a key, a tab and a value in each line. Changes
# nothing. The variable `peers` has a line for each: an address of this machine, bytes of a packet's payload, and the
# address of the other machine. Packets must not be divided on their way. Runs in any POSIX shell.
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH

privileged() {
  if [ "$(id -u)" -eq 0 ] || ! sudo -n true 2>/dev/null; then "$@"; else sudo -n -- "$@"; fi
}

# A second packet is sent because the first one may be lost while the other machine's hardware address is asked for.
# shellcheck disable=SC2016 # the inner shell expands them
one='
  asks() { ping -n -q -c 1 -W 1 -M do -I "$1" -s "$2" "$3" >/dev/null 2>&1; }
  if asks "$1" "$2" "$3" || asks "$1" "$2" "$3"; then exit; fi
  if asks "$1" 56 "$3"; then printf "small\t%s\n" "$3"; else printf "silent\t%s\n" "$3"; fi
'
# shellcheck disable=SC2154 # peers comes before this text
send() {
  if command -v ping >/dev/null 2>&1; then
    printf 'ping\tyes\n'
    printf '%s\n' "$peers" | privileged xargs -n 3 -P 32 sh -c "$one" sh
  fi
  printf 'end\tyes\n'
}

# Commands must not read the rest of this script, which the shell gets as its standard input.
send </dev/null
