package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prova-dev/prova/internal/platform/blob"
)

// upload is where --s3 puts a tar, and the address under which a host finds it there.
type upload struct {
	store     *blob.Store
	base      string // of --public-url; empty: addresses are presigned
	temporary bool   // the credentials end by themselves
}

// openUpload reads --s3 and its variables before anything is packed.
func openUpload(env *Env, address, public string) (*upload, error) {
	u := &upload{}
	if public != "" {
		var err error
		if u.base, err = publicBase(public); err != nil {
			return nil, err
		}
	}
	place, err := blob.FromEnvironment(address, env.Getenv)
	if err != nil {
		return nil, usageError("--s3: %w", err)
	}
	u.temporary = place.SessionToken != ""
	u.store, err = blob.Open(place)
	return u, err
}

// presigns reports whether an address is another one each time it is made.
func (u *upload) presigns() bool { return u.base == "" }

// address is what the host gets; nothing is sent for it.
func (u *upload) address(ctx context.Context, a *artifact, now time.Time) (string, error) {
	if !u.presigns() {
		return u.base + "/" + a.name(), nil
	}
	return u.store.PresignGet(ctx, a.name(), now, blob.MaxValid)
}

// put uploads the tar unless it is there, and fetches it as the host will.
func (u *upload) put(ctx context.Context, env *Env, uri string, a *artifact) error {
	const patience = 30 * time.Minute // 64 MiB at 300 kbit/s
	slow, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	existed, err := u.store.Put(slow, a.name(), "application/x-tar", a.data)
	if err != nil {
		return err
	}
	how := "written"
	if existed {
		how = "was there already, the same bytes"
	}
	fmt.Fprintf(env.Stderr, "storage     %s (%s)\n", u.store.Locate(a.name()), how)
	if !u.presigns() {
		return checkServed(ctx, env, "--public-url", uri, a)
	}
	ends := "holds 7 days"
	if u.temporary {
		ends = "holds 7 days, and no longer than the temporary credentials"
	}
	fmt.Fprintf(env.Stderr, "address     presigned, %s\n", ends)
	err = fetchServed(ctx, "--s3", uri, a)
	if unserved := (*unservedError)(nil); errors.As(err, &unserved) && unserved.status == http.StatusForbidden {
		return fmt.Errorf("the storage refuses the presigned address of %s (%s), and would refuse it to the host: the credentials need s3:GetObject there; or name with --public-url where the host finds the tar",
			u.store.Locate(a.name()), unserved.why)
	}
	return noteUnserved(env, "--s3", err)
}

// noteEnd says that the address of a kept submission has ended: a host that has not
// fetched it yet will not.
func (u *upload) noteEnd(env *Env, uri string, now time.Time) {
	at, err := url.Parse(uri)
	if err != nil {
		return
	}
	signed, err := time.Parse("20060102T150405Z", at.Query().Get("X-Amz-Date"))
	if err != nil {
		return
	}
	seconds, err := strconv.Atoi(at.Query().Get("X-Amz-Expires"))
	if err != nil {
		return
	}
	if end := signed.Add(time.Duration(seconds) * time.Second); now.After(end) {
		fmt.Fprintf(env.Stderr, "note        its presigned address ended at %s; a host that has not fetched the tar cannot any more (--new signs another one)\n", end.Format(time.RFC3339))
	}
}
