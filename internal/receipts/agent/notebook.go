package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// notebook is what a reference agent keeps during a run: each resource that it
// consulted, once, with its receipt. It is safe for concurrent use.
type notebook struct {
	client *Client
	host   string // canonical host of the track's corpus

	mu   sync.Mutex
	kept map[string]*note
}

// note is a consultation that is under way or done.
type note struct {
	done chan struct{}
	page *page
	err  error
}

// page is a consulted resource.
type page struct {
	path  string
	body  any
	proof string
}

func newNotebook(c *Client, host string) *notebook {
	return &notebook{client: c, host: host, kept: map[string]*note{}}
}

// read consults a resource, or finds it in the notebook. What failed is not kept.
func (b *notebook) read(ctx context.Context, path string) (*page, error) {
	b.mu.Lock()
	n, known := b.kept[path]
	if !known {
		n = &note{done: make(chan struct{})}
		b.kept[path] = n
	}
	b.mu.Unlock()
	if known {
		select {
		case <-n.done:
			return n.page, n.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer close(n.done)
	r, err := b.client.Consult(ctx, b.host+path)
	if err != nil {
		n.err = err
		b.mu.Lock()
		delete(b.kept, path)
		b.mu.Unlock()
		return nil, err
	}
	n.page = &page{path: path, body: r.Body, proof: r.ProofID}
	return n.page, nil
}

// readAll reads several resources at once, in the order asked.
func (b *notebook) readAll(ctx context.Context, paths []string) ([]*page, error) {
	var wg sync.WaitGroup
	pages, errs := make([]*page, len(paths)), make([]error, len(paths))
	for i, path := range paths {
		wg.Go(func() { pages[i], errs[i] = b.read(ctx, path) })
	}
	wg.Wait()
	return pages, errors.Join(errs...)
}

// maxChain bounds a list that would never end.
const maxChain = 1000

// chain follows page_suivante from a first page; a page already seen ends it.
func (b *notebook) chain(ctx context.Context, first string) ([]*page, error) {
	var out []*page
	seen := map[string]bool{}
	for path := first; path != "" && !seen[path]; {
		if len(out) == maxChain {
			return nil, fmt.Errorf("the list at %s has more than %d pages", first, maxChain)
		}
		seen[path] = true
		p, err := b.read(ctx, path)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
		path = word(p.body, "page_suivante")
	}
	return out, nil
}

// exists reports whether the page is a record, not the answer for an absent
// reference.
func (p *page) exists() bool { return member(p.body, "existe") == true }

// claim asserts a field of the page with the page's own receipt. It is false when
// the page has no such field.
func (p *page) claim(field string) (Assertion, bool) {
	value, ok := canonjson.Resolve(p.body, field)
	return Assertion{Resource: p.path, Field: field, Value: value, ProofIDs: []string{p.proof}}, ok
}
