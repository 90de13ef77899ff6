package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/shape"
)

// most rows of one page.
const maxRows = 200

// parameters reads a query of which only some names are known, each at most once. A
// name that is not known would be a filter that the sender believes in.
func parameters(raw string, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, bad(http.StatusBadRequest, "the query cannot be read: want name=value&…, percent-encoded")
	}
	for _, name := range slices.Sorted(keys(q)) {
		switch {
		case !slices.Contains(known, name):
			return nil, bad(http.StatusBadRequest, "unknown query parameter %q; this route knows %s", cut(name), strings.Join(known, ", "))
		case len(q[name]) > 1:
			return nil, bad(http.StatusBadRequest, "the query parameter %s is there more than once", name)
		}
	}
	return q, nil
}

func keys(q url.Values) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range q {
			if !yield(name) {
				return
			}
		}
	}
}

// cut shortens what a refusal repeats of a request.
func cut(s string) string {
	const longest = 64
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

// rowQuery reads the query of GET /v1/submissions. An empty value narrows nothing.
func rowQuery(raw string) (q ledger.RowQuery, err error) {
	given, err := parameters(raw, "topic", "hotkey", "before", "limit")
	if err != nil {
		return q, err
	}
	if q.Topic = given.Get("topic"); q.Topic != "" && !shape.Slug(q.Topic) {
		return q, bad(http.StatusBadRequest, "topic = %q: want a topic id, such as dt-no-ib-v0", cut(q.Topic))
	}
	if sent := given.Get("hotkey"); sent != "" {
		stored, ok := intake.Hex64(sent)
		if !ok {
			return q, bad(http.StatusBadRequest, "hotkey = %q: want 64 hexadecimal digits", cut(sent))
		}
		q.Hotkey = stored
	}
	if sent := given.Get("before"); sent != "" {
		id, err := intake.ParseID(sent)
		if err != nil {
			return q, bad(http.StatusBadRequest, "before = %q: want the id of a row, pf_ and 16 hexadecimal digits", cut(sent))
		}
		q.Before = &id
	}
	q.Limit, err = limit(given.Get("limit"), maxRows)
	return q, err
}

// limit reads how many entries are asked for, at most so many and that many when
// nothing is said.
func limit(sent string, largest int) (int, error) {
	if sent == "" {
		return largest, nil
	}
	n, err := strconv.Atoi(sent)
	if err != nil || n < 1 || n > largest || strconv.Itoa(n) != sent {
		return 0, bad(http.StatusBadRequest, "limit = %q: want a number from 1 to %d", cut(sent), largest)
	}
	return n, nil
}

// epochNumber reads the number of an epoch in a path.
func epochNumber(sent string) (uint64, error) {
	n, err := strconv.ParseUint(sent, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != sent {
		return 0, bad(http.StatusBadRequest, "epoch %q: want a number without leading zeros", cut(sent))
	}
	return n, nil
}
