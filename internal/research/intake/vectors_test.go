package intake

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestSection11Point2VectorsOfSubmissionDigests(t *testing.T) {
	var file struct {
		Cases []struct {
			Hotkey   string `json:"miner_hotkey"`
			Topic    string `json:"topic_id"`
			Artifact string `json:"artifact_digest"`
			Nonce    string
			Digest   string `json:"submission_digest"`
			Pod      string `json:"receipt_pod_id"`
		} `json:"submission_digests"`
	}
	load(t, "derived_digests.json", &file)
	if len(file.Cases) != 2 {
		t.Fatalf("%d vectors", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Topic, func(t *testing.T) {
			if got := Nonce(c.Hotkey, c.Topic, c.Artifact); got != c.Nonce {
				t.Errorf("nonce %s, want %s", got, c.Nonce)
			}
			got := Digest(c.Hotkey, c.Topic, c.Artifact)
			if got != c.Digest {
				t.Errorf("digest %s, want %s", got, c.Digest)
			}
			if pod := "proof-" + got[:8]; pod != c.Pod {
				t.Errorf("pod %s, want %s", pod, c.Pod)
			}
		})
	}
}

type signatureVectors struct {
	Domain string
	Cases  []struct {
		Input struct {
			Hotkey   string
			TopicID  string `json:"topic_id"`
			Artifact string `json:"artifact_digest"`
			FLOPs    uint64 `json:"declared_flops"`
			Claim    string
			Hashes   []string
			Datasets []string
			Nonce    string
		}
		Manifest string `json:"expected_hex"`
		Payload  string `json:"expected_payload_hex"`
	} `json:"literal_cases_from_source"`
	Strictness [][2]string
	RoundTrip  struct {
		OtherPub string `json:"other_pub"`
		Payload  string `json:"payload_hex"`
		Pub      string
		Seed     string
		Sig      string
	} `json:"derived_round_trip"`
}

func TestSection11Point5VectorsOfSignedPayloads(t *testing.T) {
	var file signatureVectors
	load(t, "submit_signature.json", &file)
	if file.Domain != Domain || len(file.Cases) != 5 {
		t.Fatalf("domain %q, %d vectors", file.Domain, len(file.Cases))
	}
	for _, c := range file.Cases {
		m := Manifest{c.Input.Hashes, c.Input.Datasets}
		t.Run(c.Manifest+c.Payload, func(t *testing.T) {
			got, want := hex.EncodeToString(m.Canonical()), c.Manifest
			if c.Payload != "" {
				p := Signed{c.Input.Hotkey, c.Input.TopicID, c.Input.Artifact, c.Input.FLOPs, c.Input.Claim, m, c.Input.Nonce}
				got, want = hex.EncodeToString(p.Payload()), c.Payload
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// roundTrip is the submission that the vector's payload is of.
func roundTrip(hotkey string) Signed {
	return Signed{
		Hotkey: hotkey, TopicID: "dt-no-ib-v0", ArtifactDigest: artifact, DeclaredFLOPs: 1, Claim: "beat",
		Manifest: Manifest{DatasetIDs: []string{"my-mix-v0"}}, Nonce: nonce,
	}
}

func TestSection11Point5VectorOfTheRoundTrip(t *testing.T) {
	var file signatureVectors
	load(t, "submit_signature.json", &file)
	v := file.RoundTrip
	p := roundTrip(v.Pub)
	if got := hex.EncodeToString(p.Payload()); got != v.Payload {
		t.Fatalf("payload\n%s, want\n%s", got, v.Payload)
	}
	if err := p.Verify(v.Sig); err != nil {
		t.Errorf("the vector's signature: %v", err)
	}
	seed, err := hex.DecodeString(v.Seed)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sr25519.NewSecretKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	if key.Public().String() != v.Pub {
		t.Errorf("the seed's key is %s", key.Public())
	}
	if err := roundTrip(v.OtherPub).Verify(v.Sig); !errors.Is(err, ErrSignature) {
		t.Errorf("under another hotkey: %v", err)
	}
}

func TestSection11Point5EverySignedFieldIsCovered(t *testing.T) {
	var file signatureVectors
	load(t, "submit_signature.json", &file)
	for name, change := range map[string]func(*Signed){
		"topic":    func(p *Signed) { p.TopicID = "dt-no-ib-v1" },
		"artefact": func(p *Signed) { p.ArtifactDigest = other },
		"flops":    func(p *Signed) { p.DeclaredFLOPs = 2 },
		"claim":    func(p *Signed) { p.Claim += " " },
		"dataset":  func(p *Signed) { p.Manifest.DatasetIDs = []string{"my-mix-v1"} },
		"twice":    func(p *Signed) { p.Manifest.DatasetIDs = []string{"my-mix-v0", "my-mix-v0"} },
		"list":     func(p *Signed) { p.Manifest = Manifest{ContentHashes: []string{"my-mix-v0"}} },
		"nonce":    func(p *Signed) { p.Nonce = other },
	} {
		p := roundTrip(file.RoundTrip.Pub)
		change(&p)
		if err := p.Verify(file.RoundTrip.Sig); !errors.Is(err, ErrSignature) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestSection11Point5VectorsOfForms plays each form that a row of strictness
// refuses, and a few more of its kind.
func TestSection11Point5VectorsOfForms(t *testing.T) {
	var file signatureVectors
	load(t, "submit_signature.json", &file)
	forms := map[string]func(good string) string{
		"0x prefix":     func(good string) string { return "0x" + good },
		"0x":            func(good string) string { return "0x" + good },
		"uppercase":     strings.ToUpper,
		"leading space": func(good string) string { return " " + good },
		"126 chars":     func(good string) string { return good[:126] },
		"62 chars":      func(good string) string { return good[:62] },
		"empty":         func(string) string { return "" },
	}
	more := map[string]func(good string) string{
		"0x within the length": func(good string) string { return "0x" + good[2:] },
		"trailing space":       func(good string) string { return good + " " },
		"no hex":               func(good string) string { return "g" + good[1:] },
		"two digits more":      func(good string) string { return good + "00" },
		"two digits less":      func(good string) string { return good[2:] },
	}
	fields := map[string]struct {
		rule, field, good string
		verify            func(bad string) error
		want              error
	}{
		"signature": {
			"128 lowercase hex exactly", "hotkey_signature", file.RoundTrip.Sig,
			func(bad string) error { return roundTrip(file.RoundTrip.Pub).Verify(bad) }, ErrSignature,
		},
		"submit_nonce": {"64 lowercase hex exactly", "submit_nonce", nonce, func(bad string) error {
			p := roundTrip(file.RoundTrip.Pub)
			p.Nonce = bad
			return p.Verify(file.RoundTrip.Sig)
		}, ErrNonce},
	}
	if len(file.Strictness) != len(fields) {
		t.Fatalf("%d rows of strictness", len(file.Strictness))
	}
	for _, row := range file.Strictness {
		f, known := fields[row[0]]
		rule, list, _ := strings.Cut(strings.TrimSuffix(row[1], " refused"), "; ")
		if !known || rule != f.rule {
			t.Fatalf("nothing plays the row %q", row)
		}
		if err := f.verify(f.good); err != nil {
			t.Fatalf("the good %s: %v", row[0], err)
		}
		refused := func(name string, form func(string) string) {
			t.Run(row[0]+" "+name, func(t *testing.T) {
				bad := form(f.good)
				if err := f.verify(bad); !errors.Is(err, f.want) {
					t.Errorf("%q: %v, want %v", bad, err, f.want)
				}
				newFixture(func(x *fixture) { x.fields[f.field] = bad }).refused(t, 401, f.want.Error())
			})
		}
		for name := range strings.SplitSeq(list, ", ") {
			form, ok := forms[name]
			if !ok {
				t.Errorf("nothing plays the form %q of %s", name, row[0])
				continue
			}
			refused(name, form)
		}
		for name, form := range more {
			refused(name, form)
		}
	}
}

// httpCases are the cases of the vectors: what a host is, and what it answers.
var httpCases = map[string]func(t *testing.T){
	"POST admin executor status closed": func(t *testing.T) {
		newFixture(func(f *fixture) { f.host.Executor.Status = offer.Closed }).refused(t, 503, "eval executor offer is closed; refuse scoring")
	},
	"topic pins another executor commitment": func(t *testing.T) {
		refusedWith(t, 503, "cannot serve", func(f *fixture) { f.doc.EvalExecutor.RequireOfferCommitment = &other })
	},
	"topic_id empty": func(t *testing.T) {
		newFixture(func(f *fixture) { f.fields["topic_id"] = "" }).refused(t, 400, "topic_id is required")
	},
	"lium live scorer reproduced":     func(t *testing.T) { scored(t, throughput, true, false, family.AwaitingAdmin) },
	"lium live scorer not reproduced": func(t *testing.T) { scored(t, throughput, false, false, family.Rejected) },
	"manifest lists a holdout shard hash": func(t *testing.T) {
		records, err := records().Reveal(other)
		if err != nil {
			t.Fatal(err)
		}
		out := newFixture(func(f *fixture) {
			f.fields["manifest"] = map[string]any{"train_content_hashes": []string{" " + strings.ToUpper(records[5].ContentSHA256)}}
		}).passes(t, Reject)
		if len(out.Fingerprints) != 1 || out.Fingerprints[0] != "shard:"+records[5].ContentSHA256 || out.Plan != nil {
			t.Errorf("fingerprints %v, plan %v", out.Fingerprints, out.Plan)
		}
		row, _, err := out.Persist(0, Result{})
		if err != nil || row.State != family.Rejected || *row.Detail != "gates=[Contamination]" {
			t.Errorf("row %+v %v", row, err)
		}
	},
	"empty image digest": func(t *testing.T) {
		refusedWith(t, 503, "eval image digest not pinned", func(f *fixture) { f.host.Pin.EvalImageDigest = "" })
	},
	"digest pinned, no scorer": func(t *testing.T) {
		refusedWith(t, 503, "no in-process sim", func(f *fixture) { f.host.Harvest, f.host.Custom = nil, nil })
	},
	"custom-only host, throughput submit": func(t *testing.T) {
		newFixture(throughput, func(f *fixture) { f.host.Harvest = nil }).refused(t, 503, NoLiveScorer)
	},
	"custom submit crowned": func(t *testing.T) { scored(t, func(*fixture) {}, true, true, family.Champion) },
	"custom runner unwired": func(t *testing.T) {
		detail := "runner not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)"
		f := newFixture(func(f *fixture) { f.host.Custom.Runners[customID] = detail })
		f.refused(t, 503, `custom metric "harness_success_rate" has no registered runner (`+detail+`); refuse scoring`)
		if missing := f.host.Unready(f.host.Topics["topic-a"]); len(missing) != 1 {
			t.Errorf("the host lacks %v", missing)
		}
	},
	"custom artifact_uri null or blank": func(t *testing.T) {
		for _, uri := range []any{nil, "", " \t\n"} {
			newFixture(func(f *fixture) { f.fields["artifact_uri"] = uri }).refused(t, 400, "artifact_uri is required for custom topics")
		}
	},
	"lium with no judge key": func(t *testing.T) {
		refusedWith(t, 503, "API key", func(f *fixture) { f.host.JudgeKey = false })
	},
	"topic inference.base_url spoofed": func(t *testing.T) {
		refusedWith(t, 503, "committed judge origin", func(f *fixture) { f.doc.Inference.BaseURL = ptr("https://spoof.invalid") })
	},
}

func TestVectorsOfSubmissionsOverHTTP(t *testing.T) {
	var file struct {
		Cases []struct {
			Area, Input string
			Expected    json.RawMessage
		}
	}
	load(t, "cases.json", &file)
	if len(file.Cases) != len(httpCases) {
		t.Fatalf("%d vectors, %d tests", len(file.Cases), len(httpCases))
	}
	for _, c := range file.Cases {
		run, ok := httpCases[c.Input]
		if !ok {
			t.Errorf("no test of %q", c.Input)
			continue
		}
		t.Run(c.Input, run)
	}
}

func refusedWith(t *testing.T, status int, part string, edit func(*fixture)) {
	t.Helper()
	out, refusal := newFixture(edit).decide()
	if refusal == nil {
		t.Fatalf("outcome %+v, want a refusal with %q", out, part)
	}
	if refusal.Status != status || !strings.Contains(refusal.Text, part) {
		t.Errorf("%d %s, want %d with %q", refusal.Status, refusal.Text, status, part)
	}
}

func throughput(f *fixture) {
	f.doc.Metric = topic.Metric{Family: topic.Throughput, Primary: "tokens_per_sec", Direction: topic.Max, EpsilonRel: 0.05}
	delete(f.fields, "artifact_uri")
}

// scored persists a run with such a verdict and wants its row in a state.
func scored(t *testing.T, edit func(*fixture), pass, crowned bool, state family.State) {
	t.Helper()
	out := newFixture(edit).passes(t, Run)
	row, _, err := out.Persist(3, Result{Verdict: family.Verdict{Pass: pass}, Crowned: crowned})
	if err != nil {
		t.Fatal(err)
	}
	answer := row.Answer("lium")
	if answer.State != state || answer.Eligible != pass || answer.EvalBackend != "lium" || answer.ID != "pf_0000000000000003" {
		t.Errorf("answer %+v, want state %s", answer, state)
	}
}
