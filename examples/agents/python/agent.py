#!/usr/bin/env python3
"""An agent for the receipts challenge, in Python's standard library.

    prova run --agent 'python3 examples/agents/python/agent.py'

It reads the tasks on its standard input, consults the corpus through the proxy,
applies the five published criteria and submits each task itself over HTTP, with
the disclosures that a submission needs. What it prints is its log.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

TRACK = "conformite"
FALSE, OPEN, TRUE = 0, 1, 2  # what the corpus establishes about a criterion


def call(method, url, headers=None, body=None, attempts=5):
    """Sends JSON, returns JSON. Load (429, 503) is tried again a few times."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"User-Agent": "prova-example-python/1", "Content-Type": "application/json", **(headers or {})}
    for attempt in range(1, attempts + 1):
        request = urllib.request.Request(url, data=data, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=150) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code in (429, 503) and attempt < attempts:
                time.sleep(0.1 * 2**attempt)
                continue
            text = error.read(4000).decode(errors="replace")
            raise RuntimeError(f"{method} {url}: {error.code} {text}") from None
    raise AssertionError("unreachable")


class Page:
    """A consulted resource with its receipt."""

    def __init__(self, path, body, proof):
        self.path, self.body, self.proof = path, body, proof

    def get(self, name):
        return self.body.get(name) if isinstance(self.body, dict) else None

    @property
    def exists(self):
        return self.get("existe") is True

    def claim(self, field):
        """Asserts what the page says at a JSON Pointer, with the page's receipt."""
        value = self.body
        for token in field.split("/")[1:]:
            value = value[int(token)] if isinstance(value, list) else value[token]
        return {"claim": {"resource": self.path, "field": field, "value": value}, "proof_ids": [self.proof]}


class Corpus:
    """The corpus through the proxy; each resource is asked for once."""

    def __init__(self, host):
        self.host, self.pages, self.pairs = host, {}, {}
        self.issuer = os.environ["PROVA_ISSUER_URL"]
        self.key = {"X-Api-Key": os.environ["PROVA_API_KEY"]}

    def read(self, path):
        if path not in self.pages:
            answer = call("POST", self.issuer + "/v1/proxy", self.key,
                          {"target": self.host + path, "method": "GET", "payload": {}})
            response = answer["service_response"]
            if response["status_code"] != 200:
                raise RuntimeError(f"{path}: the corpus answered {response['status_code']}")
            body = response["body"]
            if isinstance(body, dict):
                body.pop("_arkforge_attestation", None)  # the proxy's stamp, added after hashing
            self.pages[path] = Page(path, body, answer["proof"]["proof_id"])
        return self.pages[path]

    def chain(self, path):
        """All pages of a list."""
        pages = []
        while isinstance(path, str) and path not in [p.path for p in pages]:
            pages.append(self.read(path))
            path = pages[-1].get("page_suivante")
        return pages

    def disclosure(self, proof):
        """The pairs that open the request and the response hash of an own proof."""
        if proof not in self.pairs:
            full = call("GET", f"{self.issuer}/v1/proof/{proof}/full", self.key)
            self.pairs[proof] = {
                field: {"nonce": full["commitment_nonces"][field], "value": full["chain_data"][field]}
                for field in ("request_hash", "response_hash")}
        return self.pairs[proof]


def in_order(a, b):
    """Compares two dates, bounds included; a missing one leaves it open."""
    if not isinstance(a, str) or not isinstance(b, str):
        return OPEN
    return TRUE if a <= b else FALSE


def entries(pages):
    """(page, pointer, entry) for every entry of a list."""
    return [(p, f"/entrees/{i}", e) for p in pages for i, e in enumerate(p.get("entrees") or [])]


class Case:
    """One task. Each criterion gives what is established and the claims for it."""

    def __init__(self, corpus, rules, target):
        self.corpus, self.target, self.day = corpus, target, target["date_examen"]
        self.required = rules.get("types_requis")[target["activite"]]
        self.record = corpus.read("/entites/" + target["entite"])
        self.licences = self.cited(self.record, "agrements", "/agrements/", target.get("references", []))
        self.papers = self.cited(self.record, "attestations", "/attestations/", target.get("references", []))
        self.licence = None  # the one that satisfies criterion 2

    def cited(self, by, array, prefix, quoted=()):
        """(page, claims of the link) for what a record and the question cite."""
        refs = by.get(array) or []
        found = [(self.corpus.read(prefix + ref), [by.claim(f"/{array}/{i}")]) for i, ref in enumerate(refs)]
        return found + [(self.corpus.read(p), []) for p in quoted
                        if p.startswith(prefix) and p[len(prefix):] not in refs]

    def criteria(self):
        if not self.record.exists:
            return [(OPEN, [self.record.claim("/existe")])]
        first = TRUE if self.record.get("statut") == "active" else FALSE
        return [(first, [self.record.claim("/statut")]), self.licensed(),
                *[self.certified(kind) for kind in self.required], self.registered(), self.owned()]

    def licensed(self):
        ways = []
        for page, link in self.licences:
            if not page.exists:
                ways.append((OPEN, [page.claim("/existe")] + link))
            elif page.get("entite") == self.target["entite"] and page.get("activite") == self.target["activite"]:
                tests = [("/statut", TRUE if page.get("statut") == "valide" else FALSE),
                         ("/date_fin_validite", in_order(self.day, page.get("date_fin_validite"))),
                         ("/date_debut", in_order(page.get("date_debut"), self.day))]
                field, state = min(tests, key=lambda t: t[1])
                if state == TRUE:
                    self.licence = self.licence or page
                    ways.append((TRUE, [page.claim("/date_fin_validite")]))
                else:
                    ways.append((state, [page.claim(field)] + link))
        return max(ways, key=lambda w: w[0], default=(FALSE, [self.record.claim("/agrements")]))

    def certified(self, kind):
        ways = []
        for page, link in self.papers:
            if not page.exists:
                ways.append((OPEN, [page.claim("/existe")] + link))
            elif page.get("type") == kind and page.get("entite") == self.target["entite"]:
                ways.append(self.in_force(page, link))
        return max(ways, key=lambda w: w[0], default=(FALSE, [self.record.claim("/attestations")]))

    def in_force(self, page, link):
        riders = self.cited(page, "avenants", "/avenants/")
        active = sorted((r for r in riders if r[0].exists and in_order(r[0].get("date_effet"), self.day) == TRUE),
                        key=lambda r: (r[0].get("date_effet"), r[0].path))
        end, by, why = page.get("date_fin_validite"), None, None
        for rider in active:
            if rider[0].get("nouvelle_date_fin") is not None:
                end, by = rider[0].get("nouvelle_date_fin"), rider
            if rider[0].get("activite_exclue") == self.target["activite"]:
                why = [rider[0].claim("/activite_exclue"), rider[0].claim("/date_effet")] + rider[1]
        state = FALSE if why else min(in_order(page.get("date_emission"), self.day), in_order(self.day, end))
        if state == TRUE:
            return TRUE, [by[0].claim("/nouvelle_date_fin")] + by[1] if by else [page.claim("/date_fin_validite")]
        absent = [r for r in riders if not r[0].exists]
        if absent:  # what the missing rider says might change it
            return OPEN, [c for r in absent for c in [r[0].claim("/existe")] + r[1]]
        if why is None and in_order(self.day, end) == TRUE:
            why = [page.claim("/date_emission")]
        elif why is None and by:
            why = [by[0].claim("/nouvelle_date_fin"), by[0].claim("/date_effet")] + by[1]
        elif why is None:
            why = [page.claim("/date_fin_validite")]
        return state, why + link

    def registered(self):
        if self.licence is None:
            return TRUE, []
        ref = self.licence.path.rsplit("/", 1)[1]
        listed = [(p, at, e) for p, at, e in entries(self.corpus.chain(f"/listes/agrees/{self.target['activite']}/1"))
                  if e["agrement"] == ref and e["entite"] == self.target["entite"]]
        if any(e["statut"] == self.licence.get("statut") for _, _, e in listed):
            return TRUE, []
        more = [p.claim(at + "/statut") for p, at, _ in listed] or [self.licence.claim("/date_fin_validite")]
        return OPEN, [self.licence.claim("/statut")] + more

    def owned(self):
        pages = self.corpus.chain(self.record.get("beneficiaires"))
        listed = entries(self.corpus.chain("/mesures-restrictives/1"))
        state = {FALSE: [], OPEN: [], TRUE: []}
        if not pages:
            state[OPEN].append(self.record.claim("/beneficiaires"))
        for page, at, owner in entries(pages):
            for other, there, person in listed:
                if (owner["nom"], owner["prenoms"]) == (person["nom"], person["prenoms"]):
                    births = owner["date_naissance"], person["date_naissance"]
                    same = OPEN if None in births else FALSE if births[0] == births[1] else TRUE
                    state[same] += [page.claim(at + "/date_naissance"), other.claim(there + "/date_naissance")]
        state[OPEN] += [p.claim("/statut_declaration") for p in pages if p.get("statut_declaration") != "complete"]
        worst = FALSE if state[FALSE] else OPEN if state[OPEN] else TRUE
        return worst, state[worst]

    def fillers(self):
        """Fields of the entity's own pages, to reach a task's minimum."""
        pages = [self.record] + [p for p, _ in self.licences + self.papers]
        fields = {"/entites/": ["/statut", "/beneficiaires", "/agrements", "/attestations", "/existe"],
                  "/agrements/": ["/statut", "/date_debut", "/date_fin_validite", "/activite", "/entite", "/existe"],
                  "/attestations/": ["/type", "/date_emission", "/date_fin_validite", "/entite", "/existe"]}
        return [p.claim(f) for p in pages for f in fields["/" + p.path.split("/")[1] + "/"]
                if isinstance(p.body, dict) and f[1:] in p.body]


def is_own(claim):
    return not claim["claim"]["resource"].startswith(("/listes/", "/mesures-restrictives/"))


def answer(case, task):
    criteria = case.criteria()
    worst = min(state for state, _ in criteria)
    chosen, seen = [], set()

    def add(claim):
        key = claim["claim"]["resource"], claim["claim"]["field"]
        if key not in seen and len(chosen) < task["cap"]:
            seen.add(key)
            chosen.append({"id": f"a{len(chosen) + 1}", **claim})

    for state, claims in criteria:
        if state == worst:
            for claim in claims:
                add(claim)
    for claim in case.fillers():
        if len(chosen) >= task["minimum"] and 2 * sum(map(is_own, chosen)) >= task["minimum"]:
            break
        add(claim)
    return ["non_conforme", "indeterminable", "conforme"][worst], chosen


def main():
    work = json.load(sys.stdin)
    track = work["tracks"].get(TRACK)
    if track is None:
        print(f"no track {TRACK} in the input", file=sys.stderr)
        return 65
    corpus = Corpus(track["corpus_host"])
    submit = f"{os.environ['PROVA_SEASON_URL']}/v1/season/{work['season']}/submit"
    token = {"Authorization": "Bearer " + os.environ["PROVA_SEASON_TOKEN"]}
    failed = 0
    for task in track["tasks"]:
        try:
            verdict, assertions = answer(Case(corpus, corpus.read("/referentiel"), task["target"]), task)
            call("POST", submit, token, {
                "season": work["season"], "track": TRACK, "task_id": task["task_id"],
                "agent_did": os.environ["PROVA_AGENT_DID"], "verdict": verdict, "assertions": assertions,
                "disclosures": {p: corpus.disclosure(p) for p in sorted({p for a in assertions for p in a["proof_ids"]})}})
            print(f"{task['task_id']}: {verdict}, {len(assertions)} assertions, submitted", flush=True)
        except (RuntimeError, OSError, KeyError, TypeError, ValueError, IndexError) as error:
            failed += 1
            print(f"{task['task_id']}: not submitted: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
