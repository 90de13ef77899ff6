#!/usr/bin/env bash
# The whole way of a research topic on one machine: keys, documents, host agent,
# control plane, set-up, seal, five submissions, rows, payout of the closed epoch.
#
#   ./walk.sh [DIR]        DIR must be outside every git checkout; default: a new one below /tmp
#
# Nothing is isolated here: the agent is "prova sandbox serve --fake", which reports
# the figures that a recipe's own fake-run.json names. Everything else is the program
# that an operator, a miner and an auditor run. PROVA names the binary (default: the one of
# "make build", else prova on the PATH), CONTROL, AGENT and FILES the ports (8100, 8200,
# 9000), EPOCH_SECONDS an epoch's length. KEEP=1 leaves agent and control plane running
# until Ctrl-C, to look at the pages.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
prova=${PROVA:-}
if [ -z "$prova" ]; then
  prova=$here/../../build/prova
  [ -x "$prova" ] || prova=prova
fi
prova=$(command -v "$prova") || { echo "walk: ${PROVA:-prova} is no program; 'make build' makes build/prova" >&2; exit 127; }
prova=$(realpath "$prova")
control=${CONTROL:-8100} agent=${AGENT:-8200} files=${FILES:-9000}
dir=${1:-$(mktemp -d /tmp/prova-walk.XXXXXX)}
mkdir -p "$dir" && cd "$dir"
umask 077

say() { printf '\n== %s\n' "$*"; }
background=()
trap 'kill "${background[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
# wait_for SECONDS COMMAND…: until it succeeds.
wait_for() {
  local left=$(($1 * 5)); shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then echo "walk: gave up on: $*" >&2; return 1; fi
    sleep 0.2
  done
}

say "operator: keys and tokens"
for name in topic leaf miner-a miner-b; do
  "$prova" keys new --out "$name.key" | tee "$name.pub"
done
public() { grep -oE '[0-9a-f]{64}' "$1.pub" | head -1; }
head -c 32 /dev/urandom | base64 | tr -d '\n' >admin.token
head -c 32 /dev/urandom | base64 | tr -d '\n' >agent.token
echo "a key for the judge, which the fake agent never calls" >judge.key
sed "s/@TOPIC_PUBKEY@/$(public topic)/" "$here/proof-pin.toml" >proof-pin.toml

say "operator: baseline recipe, draft, holdout, offers"
"$prova" recipe pack "$here/baseline" --out baseline.tar
sed "s/@BASELINE_SHA256@/$(sha256sum baseline.tar | cut -d' ' -f1)/" "$here/topic.yaml" >topic.yaml
"$prova" holdout select --topic-id fit-noise-v0 --synthetic --out holdout.json
"$prova" topic sign topic.yaml --secret topic.key --holdout holdout.json --pin proof-pin.toml --out draft.json
"$prova" offer executor --offer-id exec-a --max-proof-deadline-s 7200 --bind-digest --pin proof-pin.toml --out executor.json
echo "http://127.0.0.1:9/v1" |
  "$prova" offer inference --offer-id judge-a --base-url - --model vendor/model --pin proof-pin.toml --out judge.json

say "operator: a host agent and a control plane"
"$prova" sandbox serve --fake --token-file agent.token --bind "127.0.0.1:$agent" --baseline-value 0.42 >agent.out 2>agent.log &
background+=($!)
cat >prova.toml <<TOML
dir = "$dir/data"
[research]
listen = "127.0.0.1:$control"
pin_file = "$dir/proof-pin.toml"
holdout_file = "$dir/holdout.json"
baseline_file = "$dir/baseline.json"
inference_offer_file = "$dir/judge.json"
inference_api_key_file = "$dir/judge.key"
executor_offer_file = "$dir/executor.json"
admin_tokens_file = "$dir/admin.token"
leaf_key_file = "$dir/leaf.key"
owner_inference_key_file = "$dir/judge.key"
vm_orchestrator_url = "http://127.0.0.1:$agent"
vm_orchestrator_token_file = "$dir/agent.token"
vm_runner_custom_ids = ["fit_noise"]
rlm_vm_image_digest = "sha256:$(printf 'no image: the fake agent boots nothing' | sha256sum | cut -d' ' -f1)"
epoch_genesis = "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
epoch_length_s = ${EPOCH_SECONDS:-30}
TOML
"$prova" research serve --config prova.toml >control.out 2>control.log &
background+=($!)
export PROVA_RESEARCH_URL="http://127.0.0.1:$control" PROVA_RESEARCH_TOKEN_FILE="$dir/admin.token"
wait_for 30 "$prova" research status

say "operator: publish the draft, let its RLM write the rules and measure the baseline"
"$prova" topic publish draft.json
"$prova" topic setup fit-noise-v0 --approve --wait --every 200ms
"$prova" baseline measure fit-noise-v0 --out measured.json

say "operator: seal it with what was measured, open it"
"$prova" topic seal draft.json --measurement measured.json --script baseline.tar --secret topic.key \
  --pin proof-pin.toml --baseline-out baseline.json --out signed.json
"$prova" topic publish signed.json
"$prova" research doctor fit-noise-v0

# send KEY RECIPE OPERATIONS CLAIM: exit status 0 for a pass, 2 for a rejected row.
send() {
  "$prova" submit --topic fit-noise-v0 --key "$1.key" --serve "127.0.0.1:$files" --state "$dir/kept" \
    --dataset my-points-v0 --flops "$3" --claim "$4" --wait --every 200ms "$here/$2"
}
say "miner a: worse than the bar"
send miner-a recipe-worse 100000 "error 0.41" || [ $? -eq 2 ]
say "miner a: better than the bar"
send miner-a recipe-better 200000 "error 0.31"
say "miner b: breaks a signed rule"
send miner-b recipe-red 10000 "error 0.01" || [ $? -eq 2 ]
say "miner b: more operations than declared"
send miner-b recipe-better 1000 "error 0.31" || [ $? -eq 2 ]
say "miner b: a copy, with enough operations declared"
send miner-b recipe-better 300000 "error 0.31"

say "anyone: the rows"
"$prova" research rows

say "anyone: recompute the payout of the epoch when it has closed"
epoch=$("$prova" research rows --json | grep -oE '"epoch": ?[0-9]+' | head -1 | grep -oE '[0-9]+')
{ public miner-a; public miner-b; } >hotkeys.txt
closed() { "$prova" research payout --epoch "$epoch" --hotkeys hotkeys.txt --json; }
wait_for $((2 * ${EPOCH_SECONDS:-30} + 30)) closed
"$prova" research payout --epoch "$epoch" --hotkeys hotkeys.txt --sign leaf.key --out leaves.json --rows
"$prova" artefact verify "data/artefacts/fit-noise-v0/"*.zip
say "done: everything is in $dir"
if [ -n "${KEEP:-}" ]; then
  echo "pages: http://127.0.0.1:$control/en/ and /fr/ until Ctrl-C"
  wait
fi
