package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prova-dev/prova/internal/platform/blob"
	"github.com/prova-dev/prova/internal/platform/blob/blobtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

var (
	tar     = bytes.Repeat([]byte("the bytes of a tar "), 10_000)
	instant = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// store opens the test's storage below a prefix.
func store(t *testing.T, server *blobtest.Server, change func(*blob.Place)) *blob.Store {
	t.Helper()
	env := server.Environment()
	p, err := blob.FromEnvironment("s3://"+blobtest.Bucket+"/recipes/mine", func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	p.MaxWait = time.Millisecond
	transport := &http.Transport{ResponseHeaderTimeout: 5 * time.Second, ExpectContinueTimeout: 5 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	p.Transport = transport
	if change != nil {
		change(p)
	}
	s, err := blob.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantFault wants texts in an error, and no secret.
func wantFault(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %s", text, err)
		}
	}
	for _, secret := range []string{blobtest.SecretKey, blobtest.AccessKey, blobtest.Token, "X-Amz-"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows %q: %s", secret, err)
		}
	}
}

func get(t *testing.T, address string) (int, []byte) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, data
}

func TestPutWritesOnceAndFindsItsOwnObjectTheSecondTime(t *testing.T) {
	server := blobtest.New(t)
	s := store(t, server, nil)
	for i, want := range []bool{false, true, true} {
		if existed, err := s.Put(t.Context(), "a.tar", "application/x-tar", tar); err != nil || existed != want {
			t.Fatalf("put %d: existed %v, %v", i, existed, err)
		}
	}
	if got := server.Object(t, "recipes/mine/a.tar"); !bytes.Equal(got, tar) {
		t.Errorf("%d bytes are stored", len(got))
	}
	if s.Locate("a.tar") != "s3://artefacts/recipes/mine/a.tar" {
		t.Error(s.Locate("a.tar"))
	}
}

func TestPutLeavesOtherBytesAlone(t *testing.T) {
	for name, c := range map[string]struct{ there, text string }{
		"shorter":                  {"x", "1 in place of 190000"},
		"nothing":                  {"", "0 in place of 190000"},
		"longer":                   {string(tar) + "xyz", "more than the 190000"},
		"as many, one of them off": {string(tar[1:]) + "?", "with another SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			server := blobtest.New(t)
			server.Place(t, "recipes/mine/a.tar", []byte(c.there))
			existed, err := store(t, server, nil).Put(t.Context(), "a.tar", "application/x-tar", tar)
			if !existed || !errors.Is(err, blob.ErrOtherBytes) {
				t.Errorf("existed %v", existed)
			}
			wantFault(t, err, "s3://artefacts/recipes/mine/a.tar", c.text, "name another prefix")
			if got := server.Object(t, "recipes/mine/a.tar"); string(got) != c.there {
				t.Error("they were overwritten")
			}
		})
	}
}

func TestPutByManyAtOnceEndsWithOneObject(t *testing.T) {
	server := blobtest.New(t)
	s := store(t, server, nil)
	var fresh atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			existed, err := s.Put(t.Context(), "a.tar", "application/x-tar", tar)
			if err != nil {
				t.Error(err)
			}
			if !existed {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	if fresh.Load() != 1 || !bytes.Equal(server.Object(t, "recipes/mine/a.tar"), tar) {
		t.Errorf("%d writers wrote", fresh.Load())
	}
}

func TestAnAnswerThatIsLostIsAskedForAgainAndTheObjectIsThere(t *testing.T) {
	server := blobtest.New(t)
	lost := 0
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && lost == 0 {
			lost++
			data, _ := io.ReadAll(r.Body)
			server.Place(t, "recipes/mine/a.tar", data)
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
			return true
		}
		return false
	})
	if existed, err := store(t, server, nil).Put(t.Context(), "a.tar", "application/x-tar", tar); err != nil || !existed || lost != 1 {
		t.Errorf("existed %v, %v, lost %d", existed, err, lost)
	}
}

func TestBusyStorageIsAskedAgainAndThenNamed(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
	}{
		"an outage":               {503, "ServiceUnavailable"},
		"too many requests":       {503, "SlowDown"},
		"two writers of one key":  {409, "ConditionalRequestConflict"},
		"an outage without words": {500, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := blobtest.New(t)
			left := 2
			server.Tamper(func(w http.ResponseWriter, _ *http.Request) bool {
				if left--; left < 0 {
					return false
				}
				blobtest.Refuse(w, c.status, c.code)
				return true
			})
			s := store(t, server, nil)
			if existed, err := s.Put(t.Context(), "a.tar", "application/x-tar", tar); err != nil || existed {
				t.Errorf("existed %v, %v", existed, err)
			}
			left = 100
			_, err := s.Put(t.Context(), "b.tar", "application/x-tar", tar)
			wantFault(t, err, fmt.Sprintf("the storage answers status %d", c.status))
			if left != 97 {
				t.Errorf("%d attempts, want 3", 100-left)
			}
		})
	}
}

func TestARefusalSaysWhatToDoAndRepeatsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		code, text string
	}{
		"no permission":              {403, "AccessDenied", "they need s3:PutObject on arn:aws:s3:::artefacts/recipes/mine/*"},
		"unknown key":                {403, "InvalidAccessKeyId", "it does not know AWS_ACCESS_KEY_ID"},
		"wrong secret":               {403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY is not the one of AWS_ACCESS_KEY_ID"},
		"ended credentials":          {400, "ExpiredToken", "AWS_SESSION_TOKEN included"},
		"wrong clock":                {403, "RequestTimeTooSkewed", "the clock of this machine is wrong"},
		"no bucket":                  {404, "NoSuchBucket", "there is no bucket artefacts: create it"},
		"another region":             {400, "AuthorizationHeaderMalformed", "the bucket is not in the region eu-test-1: correct AWS_REGION"},
		"another region, redirected": {301, "PermanentRedirect", "correct AWS_REGION"},
		"a redirect without words":   {302, "", "it points elsewhere"},
		"no conditional writes":      {501, "NotImplemented", "it does not know a write with If-None-Match"},
		"full":                       {507, "XMinioStorageFull", "it has no room"},
		"no storage at all":          {405, "<b>oops</b>", "is AWS_ENDPOINT_URL that of S3-compatible storage?"},
		"words in place of a code":   {405, "as the server pleases", "status 405: is AWS_ENDPOINT_URL"},
		"a code with a secret in it": {405, blobtest.AccessKey, "status 405 …"},
	} {
		t.Run(name, func(t *testing.T) {
			server := blobtest.New(t)
			server.Tamper(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Location", "http://elsewhere.invalid/")
				blobtest.Refuse(w, c.status, c.code)
				return true
			})
			_, err := store(t, server, func(p *blob.Place) { p.SessionToken = blobtest.Token }).Put(t.Context(), "a.tar", "application/x-tar", tar)
			wantFault(t, err, "write s3://artefacts/recipes/mine/a.tar", fmt.Sprintf("status %d", c.status), c.text)
		})
	}
}

func TestCheckNamesTheReadThatWasRefused(t *testing.T) {
	server := blobtest.New(t)
	server.Place(t, "recipes/mine/a.tar", tar)
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			blobtest.Refuse(w, 403, "AccessDenied")
		}
		return r.Method == http.MethodGet
	})
	existed, err := store(t, server, nil).Put(t.Context(), "a.tar", "application/x-tar", tar)
	if !existed {
		t.Error("a 412 says that an object is there")
	}
	wantFault(t, err, "read back", "they need s3:GetObject")
	server.Tamper(nil)
	wantFault(t, store(t, server, nil).Check(t.Context(), "none.tar", tar), "the object is gone again")
}

func TestAReadThatIsCutOffIsNoOtherObject(t *testing.T) {
	server := blobtest.New(t)
	server.Place(t, "recipes/mine/a.tar", tar)
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(tar)))
		w.Write(tar[:100])
		return true
	})
	_, err := store(t, server, nil).Put(t.Context(), "a.tar", "application/x-tar", tar)
	wantFault(t, err, "the connection was cut off", "then try again")
	if errors.Is(err, blob.ErrOtherBytes) {
		t.Error("a connection is taken for an object")
	}
}

func TestAnEndlessObjectIsReadOneByteTooFarAtMost(t *testing.T) {
	server := blobtest.New(t)
	const buffers = 64 << 20 // of the two ends of a connection, at most
	var sent atomic.Int64
	server.Tamper(func(w http.ResponseWriter, r *http.Request) bool {
		for sent.Load() < 4*buffers {
			n, err := w.Write(tar)
			sent.Add(int64(n))
			if err != nil {
				break
			}
		}
		return true
	})
	err := store(t, server, nil).Check(t.Context(), "a.tar", tar)
	if !errors.Is(err, blob.ErrOtherBytes) {
		t.Error(err)
	}
	if sent.Load() > buffers {
		t.Errorf("%d bytes were sent", sent.Load())
	}
}

func TestSlowStorageEndsWithItsContextOrItsTransport(t *testing.T) {
	server := blobtest.New(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	server.Tamper(func(_ http.ResponseWriter, r *http.Request) bool {
		io.Copy(io.Discard, r.Body)
		<-release
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := store(t, server, nil).Put(ctx, "a.tar", "application/x-tar", tar)
	wantFault(t, err, "the storage was too slow")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("a caller cannot tell the end of its context")
	}
	slow := func(p *blob.Place) {
		p.Transport = &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}
	}
	_, err = store(t, server, slow).Put(t.Context(), "a.tar", "application/x-tar", tar)
	wantFault(t, err, "the storage was too slow")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err = store(t, server, nil).Put(stopped, "a.tar", "application/x-tar", tar); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStorageThatIsNotThereIsNamedWithoutItsAddress(t *testing.T) {
	server := blobtest.New(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err := store(t, server, func(p *blob.Place) { p.Endpoint = gone.URL }).Put(t.Context(), "a.tar", "application/x-tar", tar)
	wantFault(t, err, "no connection: ", "look at AWS_ENDPOINT_URL")
}

func TestWrongCredentialsAreRefusedByTheSignatureAlone(t *testing.T) {
	server := blobtest.New(t)
	_, err := store(t, server, func(p *blob.Place) { p.SecretKey += "x" }).Put(t.Context(), "a.tar", "application/x-tar", tar)
	wantFault(t, err, "SignatureDoesNotMatch")
	_, err = store(t, server, func(p *blob.Place) { p.Region = "eu-other-1" }).Put(t.Context(), "a.tar", "application/x-tar", tar)
	wantFault(t, err, "the bucket is not in the region eu-other-1")
	if server.Object(t, "recipes/mine/a.tar") != nil {
		t.Error("something was written")
	}
}

func TestAPresignedAddressIsFetchedWithoutCredentialsUntilItEnds(t *testing.T) {
	server := blobtest.New(t)
	s := store(t, server, nil)
	if _, err := s.Put(t.Context(), "a.tar", "application/x-tar", tar); err != nil {
		t.Fatal(err)
	}
	before := len(server.Calls())
	address, err := s.PresignGet(t.Context(), "a.tar", instant, blob.MaxValid)
	if err != nil {
		t.Fatal(err)
	}
	if len(server.Calls()) != before {
		t.Error("presigning sent something")
	}
	again, err := s.PresignGet(t.Context(), "a.tar", instant, blob.MaxValid)
	if err != nil || again != address {
		t.Error("the same instant gives another address")
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	if at.Path != "/artefacts/recipes/mine/a.tar" || q.Get("X-Amz-Date") != "20261130T120000Z" || q.Get("X-Amz-Expires") != "604800" || q.Get("X-Amz-SignedHeaders") != "host" {
		t.Error(address)
	}
	server.At(instant.Add(blob.MaxValid))
	if status, data := get(t, address); status != http.StatusOK || !bytes.Equal(data, tar) {
		t.Errorf("status %d, %d bytes", status, len(data))
	}
	if status, _ := get(t, strings.Replace(address, "a.tar", "b.tar", 1)); status != http.StatusForbidden {
		t.Errorf("another object with the same signature: %d", status)
	}
	if plain, _, _ := strings.Cut(address, "?"); plain != "" {
		if status, _ := get(t, plain); status != http.StatusForbidden {
			t.Errorf("without a signature: %d", status)
		}
	}
	server.At(instant.Add(blob.MaxValid + time.Second))
	if status, _ := get(t, address); status != http.StatusForbidden {
		t.Errorf("after its end: %d", status)
	}
	for _, valid := range []time.Duration{0, -time.Hour, blob.MaxValid + time.Second} {
		_, err := s.PresignGet(t.Context(), "a.tar", instant, valid)
		wantFault(t, err, "from one second to 168h0m0s")
	}
}

func TestWithoutAnEndpointTheAddressIsThatOfAWSAndWithASessionItHasItsToken(t *testing.T) {
	server := blobtest.New(t)
	s := store(t, server, func(p *blob.Place) { p.Endpoint, p.SessionToken = "", blobtest.Token })
	address, err := s.PresignGet(t.Context(), "a.tar", instant, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(address, "https://artefacts.s3.eu-test-1.amazonaws.com/recipes/mine/a.tar?") || !strings.Contains(address, "X-Amz-Security-Token="+blobtest.Token) {
		t.Error(address)
	}
}

func TestFromEnvironmentNamesTheVariableAndTheFix(t *testing.T) {
	whole := map[string]string{"AWS_REGION": "eu-west-3", "AWS_ACCESS_KEY_ID": blobtest.AccessKey, "AWS_SECRET_ACCESS_KEY": blobtest.SecretKey}
	for name, c := range map[string]struct{ variable, value, text string }{
		"no region and no endpoint":    {"AWS_REGION", "", "AWS_REGION is not set: name the region of the bucket"},
		"a region with a dot":          {"AWS_REGION", "evil.example/", "is no region"},
		"no key":                       {"AWS_ACCESS_KEY_ID", "", "AWS_ACCESS_KEY_ID is not set"},
		"no secret":                    {"AWS_SECRET_ACCESS_KEY", "", "AWS_SECRET_ACCESS_KEY is not set"},
		"a secret with its line break": {"AWS_SECRET_ACCESS_KEY", blobtest.SecretKey + "\n", "a line break"},
		"a token with a space":         {"AWS_SESSION_TOKEN", " " + blobtest.Token, "AWS_SESSION_TOKEN has a space"},
		"an endpoint without scheme":   {"AWS_ENDPOINT_URL", "s3.example:9000", "AWS_ENDPOINT_URL must be"},
		"an endpoint with a password":  {"AWS_ENDPOINT_URL", "https://me:" + blobtest.SecretKey + "@s3.example", "without user"},
		"an endpoint with a query":     {"AWS_ENDPOINT_URL", "https://s3.example?x=" + blobtest.Token, "query"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := blob.FromEnvironment("s3://my-bucket", func(v string) string {
				if v == c.variable {
					return c.value
				}
				return whole[v]
			})
			wantFault(t, err, c.text)
		})
	}
	whole["AWS_ENDPOINT_URL"], whole["AWS_REGION"] = "http://127.0.0.1:9000", ""
	if p, err := blob.FromEnvironment("s3://my-bucket", func(v string) string { return whole[v] }); err != nil || p.Region != "us-east-1" {
		t.Errorf("an endpoint without a region: %+v, %v", p, err)
	}
}

func TestParseURLTakesABucketAndAPrefix(t *testing.T) {
	for address, want := range map[string][2]string{
		"s3://my-bucket":            {"my-bucket", ""},
		"s3://my-bucket/":           {"my-bucket", ""},
		"s3://my.bucket/a/b_c-1.d/": {"my.bucket", "a/b_c-1.d"},
	} {
		if bucket, prefix, err := blob.ParseURL(address); err != nil || bucket != want[0] || prefix != want[1] {
			t.Errorf("%s: %q, %q, %v", address, bucket, prefix, err)
		}
	}
	for address, text := range map[string]string{
		"":                                "want s3://BUCKET",
		"my-bucket/a":                     "want s3://BUCKET",
		"https://s3.example/my-bucket":    "want s3://BUCKET",
		"s3:my-bucket":                    "want s3://BUCKET",
		"s3://me:secret-word@my-bucket/a": "credentials come from AWS_ACCESS_KEY_ID",
		"s3://my-bucket/a?token=secret":   "want s3://BUCKET",
		"s3://my-bucket/a#b":              "want s3://BUCKET",
		"s3://":                           "is no name of a bucket",
		"s3://ab":                         "is no name of a bucket",
		"s3://My-Bucket":                  "is no name of a bucket",
		"s3://my-bucket:9000/a":           "is no name of a bucket",
		"s3://my..bucket/a":               "is no name of a bucket",
		"s3://my-bucket/a//b":             `the segment ""`,
		"s3://my-bucket/../b":             `the segment ".."`,
		"s3://my-bucket/a%20b":            `the segment "a b"`,
		"s3://my-bucket/" + strings.Repeat("a/", 300) + "a": "at most 512",
	} {
		_, _, err := blob.ParseURL(address)
		wantFault(t, err, text)
		if strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: the error shows it", address)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"s3://my-bucket/a/b", "s3://my-bucket", "s3://a@b/c", "s3://my-bucket/%2e%2e/x", "s3:///x", "S3://bucket/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		bucket, prefix, err := blob.ParseURL(address)
		if err != nil {
			return
		}
		again, same, err := blob.ParseURL("s3://" + bucket + "/" + prefix)
		if err != nil || again != bucket || same != prefix {
			t.Errorf("%q: %q %q, again %q %q, %v", address, bucket, prefix, again, same, err)
		}
		if at, err := url.Parse("https://h.example/" + prefix + "/x"); err != nil || strings.Contains(prefix, "..") && at.Query().Has("x") || (prefix != "" && at.EscapedPath() != "/"+prefix+"/x") {
			t.Errorf("%q: the key and the path of its address differ", prefix)
		}
	})
}
