# Starts a program with the configuration values of its node, if the stack file has any. Arguments: the program and its
# own arguments. The node's file is the last that oslo.config reads, so its values override all other files.
values="/var/lib/quorate/node-values/$NODE_NAME.conf"
if [ -f "$values" ]; then
  set -- "$@" --config-file "$values"
fi
exec "$@"
