package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/tlog"
)

// verifyEntries finds the log entries that proofs name: in the files given, else
// at the log.
type verifyEntries struct {
	files    map[string][]byte // by the uuid the document names
	only     []byte            // the entry given for the only proof, whatever it names
	offline  bool
	logs     []tlog.Log
	http     *http.Client
	deadLogs map[string]error // logs that did not answer, asked once a run
}

func newVerifyEntries(f verifyFlags, trust *receipt.Trust, oneProof bool) (*verifyEntries, error) {
	s := &verifyEntries{
		files: map[string][]byte{}, offline: f.offline, logs: trust.Logs, deadLogs: map[string]error{},
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, file := range f.logEntries {
		document, err := verifyRead(file)
		if err != nil {
			return nil, err
		}
		s.files[verifyEntryName(document)] = document
		if oneProof && len(f.logEntries) == 1 {
			// Meant for this proof: an entry of another uuid must read as a
			// mismatch, not as one that is merely missing.
			s.only = document
		}
	}
	return s, nil
}

var errVerifyNoEntry = errors.New("offline and no --log-entry file names it")

// forProof returns the look-up that receipt.VerifyOptions takes for one proof.
func (s *verifyEntries) forProof(ctx context.Context, p *receipt.Proof) func(string) ([]byte, error) {
	return func(uuid string) ([]byte, error) {
		if s.only != nil {
			return s.only, nil
		}
		if document, ok := s.files[uuid]; ok {
			return document, nil
		}
		if s.offline {
			return nil, errVerifyNoEntry
		}
		base, err := s.baseURL(p)
		if err != nil {
			return nil, err
		}
		if err := s.deadLogs[base]; err != nil {
			return nil, err
		}
		client := &tlog.Client{BaseURL: base, HTTP: s.http, UserAgent: "prova-verify"}
		document, err := client.Entry(ctx, uuid)
		if err != nil && !errors.Is(err, tlog.ErrNotFound) {
			err = fmt.Errorf("the log did not answer: %w", err)
			s.deadLogs[base] = err
		}
		return document, err
	}
}

// baseURL says where the proof's log is. A proof may not send its reader to any
// address it likes: its log_url counts only when it names a log of the trust, or
// this machine when the trust has a local log.
func (s *verifyEntries) baseURL(p *receipt.Proof) (string, error) {
	hosts, local := map[string]bool{}, false
	var first string
	for _, l := range s.logs {
		local = local || !l.Independent
		host := l.Name
		if i := strings.LastIndex(l.Origin, " - "); i >= 0 {
			host = l.Origin[:i]
		}
		if u, err := url.Parse("https://" + host); err == nil && u.Host == host && strings.Contains(host, ".") {
			hosts[host] = true
			if first == "" {
				first = host
			}
		}
	}
	named := p.LogURL()
	if named == "" {
		if len(hosts) != 1 {
			return "", errors.New("the proof has no log_url; save the entry and name it with --log-entry")
		}
		return "https://" + first, nil
	}
	u, err := url.Parse(named)
	if err != nil || u.User != nil {
		return "", errors.New("the proof's log_url is no URL; save the entry and name it with --log-entry")
	}
	switch loopback := verifyLoopback(u.Hostname()); {
	case u.Scheme == "https" && hosts[u.Host]:
	case (u.Scheme == "https" || u.Scheme == "http") && local && loopback:
	default:
		return "", fmt.Errorf("the proof's log_url names %q, which is no log of the trust; save the entry and name it with --log-entry", u.Host)
	}
	return u.Scheme + "://" + u.Host, nil
}

func verifyLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
