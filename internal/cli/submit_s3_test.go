package cli

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/platform/blob/blobtest"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

// storageBench is a bench with storage, and the flags that name it.
func storageBench(t *testing.T) (*bench, *blobtest.Server, []string) {
	t.Helper()
	b, server := newBench(t), blobtest.New(t)
	maps.Copy(b.env, server.Environment())
	return b, server, b.submit("--s3", "s3://"+blobtest.Bucket+"/recipes", "--wait")
}

// with runs a command with storage, and wants that none of its secrets is shown.
func (b *bench) with(code int, args ...string) *said {
	b.t.Helper()
	s := b.expect(code, args...)
	for _, secret := range []string{blobtest.SecretKey, blobtest.AccessKey, blobtest.Token, "X-Amz-"} {
		if strings.Contains(s.stdout+s.stderr, secret) {
			b.t.Errorf("%s shows %q:\n%s%s", s.command, secret, s.stdout, s.stderr)
		}
	}
	return s
}

// addresses returns where the host was told to fetch, one of each submission.
func (b *bench) addresses() []string {
	b.t.Helper()
	var out []string
	for _, post := range b.plane.Posts() {
		r, err := intake.Parse(post)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, *r.ArtifactURI)
	}
	return out
}

// packed is the tar of the bench's recipe, and its digest.
func (b *bench) packed() *artifact {
	b.t.Helper()
	a, err := readArtifact(b.path("recipe"))
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// uploads counts the writes that a storage was asked for.
func uploads(server *blobtest.Server) int {
	n := 0
	for _, call := range server.Calls() {
		if strings.HasPrefix(call, http.MethodPut) {
			n++
		}
	}
	return n
}

func TestSubmitUploadsOnceAndTheHostFetchesWithoutCredentials(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	a := b.packed()
	b.plane.Run = func(s *intake.Submission) remotetest.Result {
		resp, err := http.Get(s.ArtifactURI)
		if err != nil {
			t.Error(err)
			return remotetest.Result{Fault: "not served"}
		}
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(got, a.data) {
			t.Errorf("%s, %d bytes, %v", resp.Status, len(got), err)
		}
		v := 0.9
		return remotetest.Result{Primary: &v, Used: 10}
	}
	key := "recipes/" + a.digest + ".tar"
	b.with(0, args...).err("storage     s3://artefacts/"+key+" (written)", "address     presigned, holds 7 days\n").out("row         pf_0000000000000000")
	if !bytes.Equal(server.Object(t, key), a.data) {
		t.Error("another tar is stored")
	}
	b.with(0, args...).err("(was there already, the same bytes)").out("row         pf_0000000000000001")
	for _, address := range b.addresses() {
		if !strings.HasPrefix(address, server.URL+"/artefacts/"+key+"?") || !strings.Contains(address, "X-Amz-Expires=604800&") {
			t.Error(address)
		}
	}
	if kept := b.kept(); len(kept) != 0 {
		t.Errorf("a submission whose row is there is still kept: %v", kept)
	}
}

func TestSubmitRejoinsWithTheSamePresignedAddressAndWithoutStorage(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	lose := true
	b.plane.Tamper = func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		if r.Method == http.MethodPost && lose {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
			return 0, nil
		}
		return status, body
	}
	b.with(5, args...).err("run the same command again")
	before := len(server.Calls())
	server.Tamper(func(w http.ResponseWriter, _ *http.Request) bool {
		blobtest.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	time.Sleep(1100 * time.Millisecond) // presigned anew, the address would have another second
	b.plane.Change(func() { lose = false })
	// Other credentials of the same bucket do not make it another submission.
	b.env["AWS_ACCESS_KEY_ID"], b.env["AWS_SESSION_TOKEN"] = "AKIDOFANOTHER", blobtest.Token
	b.with(0, args...).err("rejoining it").out("row         pf_0000000000000000")
	if len(server.Calls()) != before {
		t.Error("a rejoin asked the storage")
	}
	posts := b.plane.Posts()
	if len(posts) != 2 || !bytes.Equal(posts[0], posts[1]) {
		t.Errorf("%d bodies, the second other than the first", len(posts))
	}
}

func TestSubmitSignsAnewForAnotherPlaceOrWhenAsked(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	b.plane.Looks = 1000
	args = args[:len(args)-1] // without --wait
	b.with(0, args...)
	b.with(0, args...).err("rejoining it")
	b.with(3, append(args, "--new")...).err("(was there already, the same bytes)", "is being evaluated already")
	b.with(3, b.submit("--s3", "s3://artefacts/elsewhere")...).err("elsewhere/", "(written)", "is being evaluated already")
	b.with(3, append(args, "--public-url", server.URL)...).err("is being evaluated already")
	nonces := map[string]bool{}
	for _, post := range b.plane.Posts() {
		r, err := intake.Parse(post)
		if err != nil {
			t.Fatal(err)
		}
		nonces[*r.SubmitNonce] = true
	}
	if len(nonces) != 4 {
		t.Errorf("%d nonces of 5 posts, want 4", len(nonces))
	}
}

func TestSubmitSaysThatTheAddressOfAKeptSubmissionHasEnded(t *testing.T) {
	t.Parallel()
	b, _, args := storageBench(t)
	b.plane.Looks = 1000
	args = args[:len(args)-1]
	b.with(0, args...)
	kept := b.kept()[0]
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	address := b.addresses()[0]
	_, rest, _ := strings.Cut(address, "X-Amz-Date=")
	old := strings.Replace(string(data), "X-Amz-Date="+rest[:16], "X-Amz-Date=20200101T000000Z", 1)
	if old == string(data) {
		t.Fatal("the kept file has no such date")
	}
	if err := os.WriteFile(kept, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := b.run(t.Context(), args...); !strings.Contains(stderr, "its presigned address ended at 2020-01-08T00:00:00Z") || !strings.Contains(stderr, "--new signs another one") {
		t.Error(stderr)
	}
}

func TestSubmitGivesThePublicAddressOfABucket(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	a := b.packed()
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(server.Object(t, "recipes/"+strings.TrimPrefix(r.URL.Path, "/tars/")))
	}))
	t.Cleanup(public.Close)
	said := b.with(0, append(args, "--public-url", public.URL+"/tars/")...).err("(written)")
	if strings.Contains(said.stderr, "presigned") || strings.Contains(said.stderr, "note") {
		t.Error(said.stderr)
	}
	if got := b.addresses(); len(got) != 1 || got[0] != public.URL+"/tars/"+a.digest+".tar" {
		t.Error(got)
	}
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("a page of the bucket")) }))
	t.Cleanup(wrong.Close)
	b.with(1, append(args, "--public-url", wrong.URL)...).err("--public-url serves 20 bytes with the digest")
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	b.with(0, append(args, "--public-url", missing.URL)...).err("note        --public-url could not be checked from here (status 404)")
}

func TestSubmitSendsNothingWhenTheStorageDoesNotHaveTheTar(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	key := "recipes/" + b.packed().digest + ".tar"
	only := func(method string, answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == method {
				answer(w)
			}
			return r.Method == method
		}
	}
	denied := func(w http.ResponseWriter) { blobtest.Refuse(w, http.StatusForbidden, "AccessDenied") }
	server.Tamper(only(http.MethodPut, denied))
	b.with(1, args...).err("they need s3:PutObject on arn:aws:s3:::artefacts/recipes/*")
	server.Tamper(only(http.MethodGet, denied))
	b.with(1, args...).err("the storage refuses the presigned address of s3://artefacts/"+key+" (status 403)", "--public-url")
	b.env["AWS_SECRET_ACCESS_KEY"] = "another"
	server.Tamper(nil)
	b.with(1, args...).err("AWS_SECRET_ACCESS_KEY is not the one of AWS_ACCESS_KEY_ID")
	b.env["AWS_SECRET_ACCESS_KEY"] = blobtest.SecretKey
	server.Place(t, key, []byte("another tar"))
	b.with(1, args...).err("other bytes are there", "they are left alone: remove that object, or name another prefix")
	if string(server.Object(t, key)) != "another tar" {
		t.Error("it was overwritten")
	}
	if len(b.plane.Posts()) != 0 || len(b.kept()) != 0 {
		t.Error("something was sent or kept")
	}
}

func TestSubmitChecksThePresignedAddressAsTheHostWillReadIt(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Write([]byte("cached"))
		return true
	})
	b.with(1, args...).err("--s3 serves 6 bytes with the digest")
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !r.URL.Query().Has("X-Amz-Signature") {
			return false
		}
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("cut off"))
		return true
	})
	b.with(0, args...).err("note        --s3 could not be checked from here (unexpected EOF)")
}

func TestSubmitWithTemporaryCredentialsSaysThatTheAddressEndsWithThem(t *testing.T) {
	t.Parallel()
	b, _, args := storageBench(t)
	b.env["AWS_SESSION_TOKEN"] = blobtest.Token
	b.with(0, args...).err("address     presigned, holds 7 days, and no longer than the temporary credentials\n")
}

func TestSubmitDryRunAsksNoStorage(t *testing.T) {
	t.Parallel()
	b, server, args := storageBench(t)
	b.with(0, append(args, "--dry-run")...).out("signed      ")
	if calls := server.Calls(); len(calls) != 0 || len(b.plane.Posts()) != 0 || len(b.kept()) != 0 {
		t.Errorf("a dry run sent or kept something: %v", calls)
	}
	// Nor does a submission that the topic would refuse.
	b.with(1, append(args, "--flops", "1001")...).err("exceeds the topic's budget")
	b.with(3, append(args, "--topic", remotetest.DraftID)...).err("is not open")
	if uploads(server) != 0 {
		t.Error("a tar was uploaded for a topic that does not take it")
	}
}
