#!/usr/bin/env bash
# Looks for known vulnerabilities. The database comes as a Go module through
# the module proxy, because its own site may not be reachable; where neither
# can be had the check says so and fails.
set -euo pipefail

tools=$1
version=v0.0.0-20261105234957-e22db6528018
db=build/vulndb-$version
if [ ! -f "$db/index/modules.json" ]; then
  dir=$(cd /tmp && GOFLAGS=-mod=mod go mod download -json "golang.org/x/vulndb@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  GOBIN=$(pwd)/$tools go install "golang.org/x/vulndb/cmd/indexdb@$version"
  rm -rf "$db" && mkdir -p "$db"
  "$tools/indexdb" -vulns "$dir/data/osv" -out "$db"
fi
"$tools/govulncheck" -db "file://$(pwd)/$db" ./...
