#!/bin/sh
# Runs once, when the database is made. The service's role may read and append; what
# more it needs on the queue, nonces and leases "prova research migrate" grants it.
set -eu
password=$(cat /run/secrets/base_app_password)
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -v password="$password" <<'SQL'
CREATE ROLE base_app LOGIN PASSWORD :'password';
SQL
