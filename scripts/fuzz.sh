#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time (default 3s). A
# target that finds something writes it to its testdata/fuzz and fails the run.
set -euo pipefail

time=${1:-3s}
count=0
for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
  dir=$(go list -f '{{.Dir}}' "$pkg")
  targets=$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null | awk '{print $2}' | sort -u || true)
  for target in $targets; do
    echo "fuzz: ${pkg#github.com/prova-dev/prova/} $target ($time)"
    # The engine sometimes reports the end of its own time as a failure; a
    # finding always names a file it wrote, so only that, or any other error
    # than the bare deadline, fails the run.
    if ! out=$(go test -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 5x "$pkg" 2>&1); then
      if grep -q 'Failing input written' <<<"$out" || ! grep -qE '^\s*context deadline exceeded$' <<<"$out"; then
        echo "$out"
        exit 1
      fi
    fi
    count=$((count + 1))
  done
done
if [ "$count" -eq 0 ]; then
  echo "fuzz: no target found" >&2
  exit 1
fi
echo "fuzz: $count targets, no finding"
