#!/usr/bin/env bash
# Installs the Debian packages that the tests use, and only those that are
# missing: python3 (oracle of canonical JSON, example agent), chromium (browser
# test of the Index), postgresql (second database), openssl (outside check of
# timestamp tokens), jq and curl (example agent), gcc (race detector).
set -euo pipefail

missing=()
need() { # program package
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}
need python3 python3
need chromium chromium
need openssl openssl
need jq jq
need curl curl
need gcc gcc
need git git
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)

if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "deps: please install: ${missing[*]} (only Debian's apt-get is automated)" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
