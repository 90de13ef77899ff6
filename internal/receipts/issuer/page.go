package issuer

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/tlog"
)

//go:embed page.html
var pageHTML string

const pageStyle = `body{font:1rem/1.5 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1rem;color:#1a1a1a;background:#fff}
header{display:flex;justify-content:space-between;flex-wrap:wrap;border-bottom:1px solid #767676}
.name{margin:0;font-weight:600}nav a{margin-left:.75rem}a{color:#0b4f9e}a[aria-current]{font-weight:700;text-decoration:none;color:inherit}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.state{padding:.75rem 1rem;border-left:.4rem solid #767676;background:#f3f3f3}.anchored{border-color:#1c6b33}.local{border-color:#8a5a00}.altered{border-color:#9c1c1c}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}dt{font-weight:600}dd{margin:0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border:1px solid #767676;vertical-align:top}
pre{background:#f3f3f3;padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}.limits{font-style:italic}
@media(max-width:36rem){dl{grid-template-columns:1fr}}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.state,pre{background:#242424}a{color:#8ab8f5}}`

// proofPage is the readable form of a proof, in French and English.
type proofPage struct {
	tmpl *template.Template
	csp  string
}

func newProofPage() (*proofPage, error) {
	tmpl, err := template.New("proof").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("issuer: proof page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageStyle))
	return &proofPage{
		tmpl: tmpl,
		csp:  "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// pageData is what the template shows.
type pageData struct {
	Lang, ID, Issuer                  string
	Style                             template.CSS
	T                                 pageTexts
	State, StateText, StateDetail     string
	Seller, Timestamp, UpstreamStatus string
	RequestHash, ResponseHash         string
	Identity, IdentityKind            string
	Rows                              []witnessRow
	Verify, OpenSSL                   string
}

type witnessRow struct{ Name, Result, Kind, Time string }

// pageLanguage is ?lang=, else what the reader's browser prefers, else English.
func pageLanguage(r *http.Request) string {
	switch lang := r.URL.Query().Get("lang"); lang {
	case "fr", "en":
		return lang
	}
	for _, part := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(part)), ";")
		primary, _, _ := strings.Cut(tag, "-")
		if primary == "fr" || primary == "en" {
			return primary
		}
	}
	return "en"
}

func (s *Service) writePage(w http.ResponseWriter, r *http.Request, d *proofDoc) error {
	data, err := s.pageData(d, pageLanguage(r))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := s.page.tmpl.Execute(&b, data); err != nil {
		return fmt.Errorf("issuer: proof page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", data.Lang)
	h.Set("Content-Security-Policy", s.page.csp)
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b.Bytes()) // A reader that has gone needs no page.
	return nil
}

func (s *Service) pageData(d *proofDoc, lang string) (*pageData, error) {
	t := textsOf(lang)
	hashes := child(d.record, "hashes")
	p := &pageData{
		Lang: lang, ID: d.row.ID, Issuer: s.cfg.Name, Style: pageStyle, T: t,
		Seller:      text(d.data, "seller"),
		Timestamp:   text(d.record, "timestamp"),
		RequestHash: text(hashes, "request"), ResponseHash: text(hashes, "response"),
		Identity: text(d.data, "agent_identity"), IdentityKind: t.SelfDeclared,
		Verify: fmt.Sprintf("curl -s -H 'Accept: application/json' %s > %s.json\nprova verify %s.json", proofURL(s.cfg.BaseURL, d.row.ID), d.row.ID, d.row.ID),
	}
	if n, ok := valueOf(d.record, "upstream_status_code").(canonjson.Int); ok {
		p.UpstreamStatus = string(n)
	}
	if v, _ := valueOf(d.data, "agent_identity_verified").(bool); v {
		p.IdentityKind = t.Bound
	}
	intact := d.intact()
	p.Rows = append(p.Rows,
		witnessRow{t.Chain, pick(intact, t.Holds, t.Broken), t.Own, p.Timestamp},
		witnessRow{t.Signature, t.Present, t.Own, p.Timestamp})
	b := d.row.Batch
	if b == nil || b.State != stateAnchored {
		p.State, p.StateText, p.StateDetail = "pending", t.Pending, t.PendingDetail
		p.Rows = append(p.Rows, witnessRow{t.Token, t.Waiting, "", ""}, witnessRow{t.Log, t.Waiting, "", ""})
	} else {
		if _, _, err := b.place(d.row.Chain); err != nil {
			return nil, err
		}
		s.anchoredPage(p, t, d, b)
	}
	if !intact {
		p.State, p.StateText, p.StateDetail = "altered", t.Altered, t.AlteredDetail
	}
	return p, nil
}

// anchoredPage adds the witnesses of an anchored batch. Each was verified before
// the batch counted as anchored; whether it is a third party is the operator's
// word, and a local one is called so.
func (s *Service) anchoredPage(p *pageData, t pageTexts, d *proofDoc, b *batchRow) {
	authority, _ := s.cfg.authority(b.Provider)
	independent := authority.Independent
	p.Rows = append(p.Rows, witnessRow{t.Token + " (" + b.Provider + ")", t.Verified, pick(authority.Independent, t.Independent, t.Local), pageTime(b.TokenTime)})
	if b.UUID == "" {
		p.Rows = append(p.Rows, witnessRow{t.Log, t.NoLog, "", ""})
	} else {
		entry, err := tlog.VerifyEntry(b.UUID, []byte(b.Entry), b.Root, s.cfg.Logs)
		kind, result := t.Local, t.Verified
		switch {
		case err != nil:
			kind, result = "", t.Broken
		case entry.Log.Independent:
			kind, independent = t.Independent, true
		}
		at := unixTime(b.IntegratedTime).Format(secondsLayout)
		p.Rows = append(p.Rows, witnessRow{t.Log + " (" + s.cfg.LogProvider + ")", result, kind, at})
	}
	p.State, p.StateText = pick(independent, "anchored", "local"), t.Anchored
	p.StateDetail = pick(independent, t.AnchoredIndependent, t.AnchoredLocal)
	if !independent {
		p.Verify = strings.Replace(p.Verify, "prova verify ", "prova verify --require local --trust trust.json ", 1)
	}
	p.OpenSSL = fmt.Sprintf(`curl -s %s/tsr > %s.tsr
printf '%%s' %s | xxd -r -p > root.bin
openssl ts -verify -data root.bin -in %s.tsr -CAfile %s`,
		proofURL(s.cfg.BaseURL, d.row.ID), d.row.ID, b.Root, d.row.ID, s.cfg.AuthorityCAHint)
	if b.Provider == "freetsa.org" {
		p.OpenSSL += " -untrusted tsa.crt"
	}
}

// pageTime writes a stored instant the way the page writes all of them.
func pageTime(iso string) string { return strings.TrimSuffix(iso, "+00:00") + "Z" }

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
