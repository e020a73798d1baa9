#!/bin/sh
# Makes the passwords and keys of compose.yaml in secrets/. What exists is kept, so running it again is safe.
#
#   sudo ./secrets.sh                    the keys are made by the image (HEADGATE_IMAGE)
#   HEADGATE=/path/to/headgate ./secrets.sh    or by a program on this machine
#   KMS=hashivault://KEY ./secrets.sh    a key of Vault or OpenBao wraps the master key (VAULT_ADDR, VAULT_TOKEN)
#   OWN=no ./secrets.sh                  the files belong to the user who runs it (for a look; containers cannot read them)
set -eu
umask 077
cd "$(dirname "$0")"

if [ "${OWN:-yes}" = yes ] && [ "$(id -u)" != 0 ]; then
    echo "secrets.sh: run it as root (sudo): the files are given to the users of the containers" >&2
    exit 1
fi
out=${SECRETS:-secrets}
mkdir -p "$out/postgres" "$out/valkey" "$out/grafana" "$out/headgate/keys"

password() { openssl rand -hex 32; }
# keep FILE: standard input becomes this file, whole, unless there is one.
keep() {
    if [ -e "$1" ]; then cat > /dev/null; else cat > "$1.new" && mv "$1.new" "$1"; fi
}

password | keep "$out/postgres/password"
password | keep "$out/grafana/password"

# The logins of the parts, and what PostgreSQL is told of them: made together, or they would not fit each other.
if [ ! -e "$out/postgres/role-passwords.psql" ]; then
    for role in owner api proxy worker; do
        secret=$(password)
        printf "\\set %s_password '%s'\n" "$role" "$secret"
        printf 'postgresql://headgate_%s:%s@postgres:5432/headgate\n' "$role" "$secret" \
            > "$out/headgate/$role-database-url"
    done > "$out/postgres/role-passwords.psql.new"
    mv "$out/postgres/role-passwords.psql.new" "$out/postgres/role-passwords.psql"
fi
if [ ! -e "$out/valkey/valkey.conf" ]; then
    secret=$(password)
    printf 'redis://:%s@valkey:6379/0\n' "$secret" > "$out/headgate/redis-url"
    printf 'requirepass %s\nprotected-mode yes\nsave ""\nappendonly no\nmaxmemory 256mb\nmaxmemory-policy volatile-ttl\n' \
        "$secret" | keep "$out/valkey/valkey.conf"
fi

set --
reach="--network none"
if [ -n "${KMS:-}" ]; then
    set -- --kms "$KMS"
    reach="--env VAULT_ADDR --env VAULT_TOKEN --env VAULT_NAMESPACE --env TRANSIT_SECRET_ENGINE_PATH"
fi
if [ -n "${HEADGATE:-}" ]; then
    "$HEADGATE" secrets create "$out/headgate/keys" "$@" > /dev/null
else
    docker run --rm $reach --read-only --tmpfs /tmp --user 0:0 --volume "$(realpath "$out/headgate/keys"):/keys" \
        "${HEADGATE_IMAGE:-headgate:latest}" secrets create /keys "$@" > /dev/null
fi

if [ "${OWN:-yes}" = yes ]; then
    chown -R 999:999 "$out/postgres" "$out/valkey"
    chown -R 10001:10001 "$out/headgate"
    chown -R 472:0 "$out/grafana"
fi
find "$out" -type f -exec chmod 400 {} +
echo "secrets.sh: the secrets are in $out. Keep a copy of $out/headgate/keys apart from the backups of the database"
