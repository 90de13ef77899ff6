#!/bin/sh
# An agent for the receipts challenge in POSIX shell, with curl and jq.
#
#   prova run --agent 'sh examples/agents/shell/agent.sh'
#
# It reads the tasks on its standard input, consults the corpus through the proxy
# and prints one JSON line a task; prova adds the disclosures and submits. What it
# says on standard error is its log.
set -eu
umask 077

for program in curl jq; do
  command -v "$program" >/dev/null || { echo "$program is missing: run make deps" >&2; exit 69; }
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
cat >"$dir/work"
# The key goes into a file, because arguments show in the list of processes.
printf 'X-Api-Key: %s\nContent-Type: application/json\n' "$PROVA_API_KEY" >"$dir/headers"

host=$(jq -r '.tracks.conformite.corpus_host // empty' "$dir/work")
[ -n "$host" ] || { echo "no track conformite in the input" >&2; exit 65; }

# consult PATH: asks for a resource once and keeps {resource, proof, body}. A
# failure of the network and the statuses 429 and 503 are tried again.
consult() {
  note="$dir/note_$(printf %s "$1" | tr / _)"
  if [ ! -s "$note" ]; then
    jq -cn --arg target "$host$1" '{target: $target, method: "GET", payload: {}}' >"$dir/request"
    curl -sS --fail-with-body --retry 4 --max-time 150 -H "@$dir/headers" \
      --data-binary "@$dir/request" "$PROVA_ISSUER_URL/v1/proxy" >"$dir/answer" ||
      { echo "consulting $1: $(cat "$dir/answer")" >&2; return 1; }
    # The proxy stamps the body after hashing it; the stamp is not the corpus's.
    jq -ce --arg resource "$1" 'select(.service_response.status_code == 200)
      | {resource: $resource, proof: .proof.proof_id, body: (.service_response.body | del(._arkforge_attestation))}' \
      "$dir/answer" >"$note" || { rm -f "$note"; echo "consulting $1: no answer of the corpus" >&2; return 1; }
  fi
  cat "$note"
}

# consult_all: consults every path on its standard input.
consult_all() {
  while read -r path; do consult "$path"; done
}

# The rules say which attestations an activity requires.
consult /referentiel >"$dir/rules"

# decide: from {task, types, pages} to the line that is printed. It applies
# criteria 1 to 3; the lists of criteria 4 and 5 are left as an exercise.
cat >"$dir/decide.jq" <<'JQ'
.task as $task | .types as $types | .pages as $pages | $task.target as $target | $target.date_examen as $day
| ("/entites/" + $target.entite) as $record
| def page($path): first($pages[] | select(.resource == $path));
  def body($path): page($path).body;
  # A claim is what the page says at a pointer, with the page's own receipt.
  def claim($path; $field): page($path) as $page
    | {resource: $path, field: $field, proof_ids: [$page.proof],
       value: ($page.body | getpath($field | ltrimstr("/") | split("/") | map(if test("^[0-9]+$") then tonumber else . end)))};
  # What is cited: by the record, with its link, or by the question alone.
  def cited($array; $prefix): body($record) as $body
    | [($body[$array] // [] | to_entries[] | {path: ($prefix + .value), link: [claim($record; "/\($array)/\(.key)")]}),
       ($target.references // [] | .[] | select(startswith($prefix)) | select(ltrimstr($prefix) as $ref | ($body[$array] // []) | index($ref) | not) | {path: ., link: []})];
  # The riders in effect of an attestation, by date of effect, then reference.
  def riders($path): [body($path).avenants // [] | to_entries[] | {path: ("/avenants/" + .value), link: claim($path; "/avenants/\(.key)")}
    | . + {body: body(.path)} | select(.body.existe and .body.date_effet <= $day)] | sort_by(.body.date_effet, .path);
  def absent_rider($path): [body($path).avenants // [] | to_entries[] | {path: ("/avenants/" + .value), link: claim($path; "/avenants/\(.key)")}
    | select(body(.path).existe | not)] | first // null;
  def state($is; $why): {is: $is, why: $why};
  def best: sort_by(.is) | last // state(0; []);   # 0 false, 1 open, 2 true
  def entity: body($record)
    | if .existe | not then state(1; [claim($record; "/existe")])
      elif .statut != "active" then state(0; [claim($record; "/statut")])
      else state(2; [claim($record; "/statut")]) end;
  def licences: cited("agrements"; "/agrements/") | map(.path as $path | .link as $link | body($path)
    | if .existe | not then state(1; [claim($path; "/existe")] + $link)
      elif .entite != $target.entite or .activite != $target.activite then empty
      elif .statut != "valide" then state(0; [claim($path; "/statut")] + $link)
      elif .date_fin_validite < $day then state(0; [claim($path; "/date_fin_validite")] + $link)
      elif .date_debut > $day then state(0; [claim($path; "/date_debut")] + $link)
      else state(2; [claim($path; "/date_fin_validite")]) end)
    | if length == 0 then state(0; [claim($record; "/agrements")]) else best end;
  def attestation($type): cited("attestations"; "/attestations/") | map(.path as $path | .link as $link | body($path)
    | if .existe | not then state(1; [claim($path; "/existe")] + $link)
      elif .type != $type or .entite != $target.entite then empty
      else riders($path) as $riders
        | ([$riders[] | select(.body.nouvelle_date_fin)] | last) as $last
        | ([$riders[] | select(.body.activite_exclue == $target.activite)] | last) as $exclusion
        | ($last.body.nouvelle_date_fin // .date_fin_validite) as $until
        | if $exclusion then state(0; [claim($exclusion.path; "/activite_exclue"), claim($exclusion.path; "/date_effet"), $exclusion.link] + $link)
          elif .date_emission > $day then state(0; [claim($path; "/date_emission")] + $link)
          elif $until >= $day then state(2; if $last then [claim($last.path; "/nouvelle_date_fin"), $last.link] else [claim($path; "/date_fin_validite")] end)
          elif absent_rider($path) then absent_rider($path) | state(1; [claim(.path; "/existe"), .link])
          elif $last then state(0; [claim($last.path; "/nouvelle_date_fin"), claim($last.path; "/date_effet"), $last.link] + $link)
          else state(0; [claim($path; "/date_fin_validite")] + $link) end
      end)
    | if length == 0 then state(0; [claim($record; "/attestations")]) else best end;
  ([entity] + if body($record).existe then [licences] + [$types[] as $type | attestation($type)] else [] end) as $criteria
| ($criteria | map(.is) | min) as $worst
# What decided comes first; the record's own fields fill up to the minimum.
| ([$criteria[] | select(.is == $worst) | .why[]]
   + [("/existe", "/statut", "/agrements", "/attestations", "/beneficiaires") as $field | select(body($record) | has($field[1:])) | claim($record; $field)]) as $claims
| (reduce $claims[] as $c ([]; if any(.[]; .resource == $c.resource and .field == $c.field) then . else . + [$c] end)) as $claims
| ([$criteria[] | select(.is == $worst) | .why[]] | unique | length) as $needed
| {track: "conformite", task_id: $task.task_id, verdict: ["non_conforme", "indeterminable", "conforme"][$worst],
   assertions: $claims[:([$needed, $task.minimum] | max | [., $task.cap] | min)],
   narrative: "Critères 1 à 3 seulement ; les listes ne sont pas lues. / Criteria 1 to 3 only; the lists are not read."}
JQ

jq -c '.tracks.conformite.tasks[]' "$dir/work" >"$dir/tasks"
while read -r task; do
  # No pipe holds a consultation, so that one that fails ends the script.
  printf %s "$task" >"$dir/task"
  echo "working on $(jq -r .task_id "$dir/task")" >&2
  consult "$(jq -r '"/entites/" + .target.entite' "$dir/task")" >"$dir/record"
  jq -r '(.body.agrements // [] | map("/agrements/" + .)[]), (.body.attestations // [] | map("/attestations/" + .)[])' "$dir/record" >"$dir/paths"
  jq -r '.target.references // [] | .[]' "$dir/task" >>"$dir/paths"
  sort -u "$dir/paths" >"$dir/cited"
  consult_all <"$dir/cited" >"$dir/pages"
  jq -r '.body.avenants // [] | map("/avenants/" + .)[]' "$dir/pages" | sort -u >"$dir/riders"
  consult_all <"$dir/riders" >>"$dir/pages"
  cat "$dir/record" >>"$dir/pages"
  jq -cn --slurpfile task "$dir/task" --slurpfile rules "$dir/rules" --slurpfile pages "$dir/pages" \
    '{task: $task[0], types: $rules[0].body.types_requis[$task[0].target.activite], pages: $pages}' >"$dir/case"
  jq -ce -f "$dir/decide.jq" "$dir/case"
done <"$dir/tasks"
