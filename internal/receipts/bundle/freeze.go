package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// RulesInput is what the rules hash of one track covers (§4, D5). Tasks,
// WitnessPolicy and Rules are the values as published, unknown members included.
type RulesInput struct {
	Season        int64
	Opens, Closes time.Time
	SeasonHost    string
	WitnessPolicy any
	Track         string
	CorpusHost    string
	Tasks         any
	Rules         any
}

// RulesObject is R, the exact object that the rules hash covers.
func RulesObject(in RulesInput) *canonjson.Object {
	return canonjson.NewObject(
		"season", canonjson.NewInt(in.Season), "opens", formatInstant(in.Opens), "closes", formatInstant(in.Closes),
		"season_host", in.SeasonHost, "witness_policy", in.WitnessPolicy,
		"track", in.Track, "corpus_host", in.CorpusHost, "tasks", in.Tasks, "rules", in.Rules)
}

// RulesHash is SHA-256(C(R)) in hex.
func RulesHash(in RulesInput) string { return hexSum(canonjson.Marshal(RulesObject(in))) }

func formatInstant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// RulesInput gathers the input of a track's rules hash from the bundle.
func (b *Bundle) RulesInput(t *Track) RulesInput {
	return RulesInput{
		Season: b.Season.Number, Opens: b.Season.Opens, Closes: b.Season.Closes, SeasonHost: b.Season.SeasonHost,
		WitnessPolicy: b.Season.policy, Track: t.Name, CorpusHost: t.CorpusHost, Tasks: t.tasks, Rules: t.rules,
	}
}

// Statement is the payload of the pre-registration call (§7).
func Statement(season int64, trackName, rulesVersion string, f Freeze) *canonjson.Object {
	return canonjson.NewObject("season", canonjson.NewInt(season), "track", trackName, "rules_version", rulesVersion,
		"rules_sha256", f.RulesSHA256, "manifest_sha256", f.ManifestSHA256, "key_commitment", f.KeyCommitment)
}

// FreezeTarget is the URL of the pre-registration call.
func FreezeTarget(seasonHost string, season int64, trackName string) string {
	return seasonHost + "/v1/season/" + strconv.FormatInt(season, 10) + "/freeze/" + trackName
}

// FreezeRequestHash is the request hash of the pre-registration call, in hex.
func FreezeRequestHash(seasonHost string, season int64, trackName string, statement *canonjson.Object) string {
	return hexSum(canonjson.Marshal(requestData("POST", FreezeTarget(seasonHost, season, trackName), statement)))
}

// CheckFreeze makes the nine checks of §7 for each track in name order and
// returns the first that fails, nil when all hold. Nothing may be scored before.
// A file that the system cannot read fails the check that needs it.
func (b *Bundle) CheckFreeze(ck *receipt.Checker) *Refusal {
	for _, name := range b.TrackNames() {
		t := b.Tracks[name]
		refuse := func(reason, format string, args ...any) *Refusal {
			return &Refusal{Track: name, Reason: reason, Why: fmt.Sprintf(format, args...)}
		}
		if r := b.checkFreezeProof(ck, t, refuse); r != nil {
			return r
		}
		if r := b.checkFrozenHashes(t, refuse); r != nil {
			return r
		}
		if r := b.checkCorpus(t, refuse); r != nil {
			return r
		}
	}
	return nil
}

type refuser func(reason, format string, args ...any) *Refusal

// checkFreezeProof is checks 1 to 5.
func (b *Bundle) checkFreezeProof(ck *receipt.Checker, t *Track, refuse refuser) *Refusal {
	path := FreezePath(t.Name)
	data, err := readAll(b.src, path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return refuse(ReasonFreezeMissing, "%s is missing", path)
		}
		return refuse(ReasonFreezeMissing, "%s %s", path, cause(err))
	}
	proof, disclosure, err := parseFreeze(data)
	if err != nil {
		return refuse(ReasonFreezeMissing, "%s %v", path, err)
	}
	if id := proof.ID(); id != t.Freeze.ProofID {
		return refuse(ReasonFreezeMissing, "%s holds proof %s, published was %s", path, strict.Quote(id), t.Freeze.ProofID)
	}
	if !anchored(proof) {
		return refuse(ReasonFreezePending, "proof %s waits for its batch", t.Freeze.ProofID)
	}
	if _, ok := proof.Chain(); !ok {
		return refuse(ReasonFreezeInvalid, "proof_malformed: hashes.chain is not sha256: and 64 hexadecimal characters")
	}
	evidence, bad := ck.Admit(proof, b.logEntry, b.Season.Witnesses.Receipt())
	if bad != nil {
		return refuse(ReasonFreezeInvalid, "%s: %s", bad.Detail, bad.Why)
	}
	if !disclosure.Opens(evidence.Commitments) {
		return refuse(ReasonFreezeInvalid, "disclosure_mismatch: the pairs of %s do not open the proof's commitments", path)
	}
	if evidence.TokenTime.After(b.Season.Opens) {
		return refuse(ReasonFreezeLate, "its token is of %s, the season opened at %s",
			evidence.TokenTime.UTC().Format(time.RFC3339Nano), formatInstant(b.Season.Opens))
	}
	statement := Statement(b.Season.Number, t.Name, t.Rules.Version, t.Freeze)
	want := FreezeRequestHash(b.Season.SeasonHost, b.Season.Number, t.Name, statement)
	if disclosure.Request.Value != want {
		return refuse(ReasonFreezeStatement, "the proof anchors request %s, the published statement gives %s", strict.Quote(disclosure.Request.Value), want)
	}
	return nil
}

// logEntry answers the checker; what cannot be read is not there.
func (b *Bundle) logEntry(uuid string) ([]byte, bool) {
	data, ok, err := b.LogEntry(uuid)
	return data, ok && err == nil
}

// anchored is check 2: batch_anchor.status is "anchored".
func anchored(p *receipt.Proof) bool {
	v, ok := canonjson.Resolve(p.Object(), "/batch_anchor/status")
	return ok && v == "anchored"
}

// parseFreeze reads freeze/<track>.json. Pairs that are not there stay empty and
// open nothing.
func parseFreeze(data []byte) (*receipt.Proof, Disclosure, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, Disclosure{}, fmt.Errorf("is not strict JSON: %s", strict.Reason(err))
	}
	view, ok := canonjson.Resolve(v, "/proof")
	if !ok {
		return nil, Disclosure{}, errors.New("has no proof")
	}
	// The view is read by the same parser as a file of proofs/. Its compact text
	// holds the same members and values.
	proof, err := receipt.Parse(canonjson.Compact(view))
	if err != nil {
		return nil, Disclosure{}, fmt.Errorf("holds a proof that does not read: %w", err)
	}
	text := func(pointer string) string {
		v, _ := canonjson.Resolve(v, "/disclosures/"+pointer)
		s, _ := v.(string)
		return s
	}
	return proof, Disclosure{
		Request:  Pair{Nonce: text("request_hash/nonce"), Value: text("request_hash/value")},
		Response: Pair{Nonce: text("response_hash/nonce"), Value: text("response_hash/value")},
	}, nil
}

// Opens reports whether both pairs open their commitments (§10 check 10).
func (d Disclosure) Opens(commitments map[string][32]byte) bool {
	return d.Request.opens(commitments, "request_hash") && d.Response.opens(commitments, "response_hash")
}

func (p Pair) opens(commitments map[string][32]byte, name string) bool {
	c, ok := commitments[name]
	return ok && commit.Opens(c, name, p.Nonce, p.Value)
}

// checkFrozenHashes is checks 6 to 8.
func (b *Bundle) checkFrozenHashes(t *Track, refuse refuser) *Refusal {
	if got := RulesHash(b.RulesInput(t)); got != t.Freeze.RulesSHA256 {
		return refuse(ReasonRules, "the rules hash is %s, frozen was %s", got, t.Freeze.RulesSHA256)
	}
	if t.textSum != t.Rules.TextSHA256 {
		return refuse(ReasonRules, "%s has SHA-256 %s, its rules name %s", RulesTextPath(t.Name), t.textSum, t.Rules.TextSHA256)
	}
	if got := t.Manifest.SHA256(); got != t.Freeze.ManifestSHA256 {
		return refuse(ReasonManifest, "the manifest hash is %s, frozen was %s", got, t.Freeze.ManifestSHA256)
	}
	if got := t.Key.Commitment(); got != t.Freeze.KeyCommitment {
		return refuse(ReasonKey, "the key commitment is %s, frozen was %s", got, t.Freeze.KeyCommitment)
	}
	return nil
}

// checkCorpus is check 9.
func (b *Bundle) checkCorpus(t *Track, refuse refuser) *Refusal {
	for _, e := range t.Manifest.Entries {
		if err := b.checkCorpusEntry(t, e); err != nil {
			return refuse(ReasonCorpus, "%s: %v", strict.Quote(e.Resource), err)
		}
	}
	return nil
}

func (b *Bundle) checkCorpusEntry(t *Track, e ManifestEntry) error {
	if strings.HasPrefix(e.Resource, SystemPrefix) {
		if e.URL != nil || e.RequestSHA256 != nil {
			return errors.New("url and request_sha256 must be null, it is never served under its name")
		}
	} else {
		url := t.CorpusHost + e.Resource
		if e.URL == nil || *e.URL != url {
			return fmt.Errorf("url must be %s", strict.Quote(url))
		}
		if want := RequestHash(url); e.RequestSHA256 == nil || *e.RequestSHA256 != want {
			return fmt.Errorf("request_sha256 must be %s", want)
		}
	}
	path := CorpusFilePath(t.Name, e.File)
	data, err := readAll(b.src, path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", path)
	}
	if err != nil {
		return fmt.Errorf("%s %s", path, cause(err))
	}
	got, err := ResponseHash(data)
	if err != nil {
		return fmt.Errorf("%s is not JSON: %w", path, err)
	}
	if got != e.ResponseSHA256 {
		return fmt.Errorf("%s has response hash %s, the manifest says %s", path, got, e.ResponseSHA256)
	}
	return nil
}
