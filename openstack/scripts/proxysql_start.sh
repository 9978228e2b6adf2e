# Joins ProxySQL's two files, and starts it from them: --initial ignores the database that it keeps of an earlier start.
set -eu
umask 077
cd /etc/proxysql
cat proxysql-members.cnf proxysql-accounts.cnf >/var/lib/proxysql/proxysql.cnf
exec proxysql -f --initial --no-version-check -D /var/lib/proxysql -c /var/lib/proxysql/proxysql.cnf
