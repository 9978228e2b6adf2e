# Starts a program with the configuration values of its node, if the stack file has any. Arguments: the program and its
# own arguments. The node's file is the last that oslo.config reads, so its values override all other files. oslo.config
# prefers OS_<SECTION>__<OPTION> to files, so the program starts without the variables of the options in the node's file.
values="/var/lib/quorate/node-values/$NODE_NAME.conf"
if [ -f "$values" ]; then
  set -- "$@" --config-file "$values"
  section=DEFAULT
  while read -r line; do
    case "$line" in
      "["*"]")
        section="${line#?}"
        section="${section%?}"
        ;;
      *=*)
        name="${line%%=*}"
        variable="$(printf 'OS_%s__%s' "$section" "${name% }" | tr '[:lower:]' '[:upper:]')"
        set -- env -u "$variable" "$@"
        ;;
    esac
  done < "$values"
fi
exec "$@"
