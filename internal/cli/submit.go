package cli

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/platform/near"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// The exit statuses of submit.
const (
	submitRejected = 2 // a row was stored, and its verdict is a rejection
	submitRefused  = 3 // refused, and the same submission will be again
	submitLater    = 4 // refused for now: a limit, a full queue, a host that cannot score
	submitUnknown  = 5 // sent, and its end is not known yet
)

type submitFlags struct {
	remoteFlags
	topicID, key        string
	uri, serve, s3      string
	public              string
	claim, architecture string
	flops               uint64
	hashes, datasets    []string
	stateDir            string
	every               time.Duration
	wait, fresh, json   bool
	dryRun              bool
}

// newSubmitCmd is a miner's way from a folder to a scored row.
func newSubmitCmd(env *Env) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit DIR|FILE.tar",
		Short: "Pack, sign and send a recipe to a research topic",
		Long: `Pack a recipe, sign its digest with the hotkey and send it to a topic. A folder is
packed as one canonical tar; a tar is sent as it is, byte for byte.

The host fetches the tar itself: from --uri, where you have put it, from S3-compatible
storage to which --s3 uploads it, or from this process with --serve, which then stays
until the run has ended. The digest is that of the exact file that is served: a tar
that was made again is another one.

--s3 s3://BUCKET/PREFIX takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, with temporary
credentials AWS_SESSION_TOKEN, and AWS_REGION or, for other storage than AWS,
AWS_ENDPOINT_URL. The tar is written once, as PREFIX/DIGEST.tar; what is there already
is checked. The host gets a presigned address that holds 7 days, the longest there is,
and with temporary credentials no longer than they do. Like any address of a submission
it becomes public with the row when the epoch has closed, and it names the access key
(with temporary credentials their token too), never a secret key. With --public-url BASE
it gets BASE/DIGEST.tar in its place, which must serve what is at PREFIX.

Nothing is sent without a manifest (--hash, --dataset): a host rejects a submission
that declares no training data. Topic and budget are checked first.

The nonce and the body are kept until a row is there, mode 0600 under --state. The
same command again rejoins the same run, also after a lost connection, and sends it
again when it was refused without a row; --new forgets the kept one. A run goes on
without its client.

Exit status: 0 the run passed, or without --wait the submission was taken;
2 a row says rejected; 3 refused; 4 refused for now, try again later; 5 sent, and
its end is not known yet: run the same command again; 64 wrong usage; 1 any other
fault on this side.`,
		Example: `  prova submit --topic my-topic --key ~/proof/miner.key --uri https://miner.example/recipe.tar --claim "error 0.12" --flops 1000000000 --dataset my-mix-v0 --wait recipe.tar
  prova submit --topic my-topic --key ~/proof/miner.key --serve 127.0.0.1:9000 --claim "error 0.12" --flops 1000000000 --dataset my-mix-v0 ./recipe
  prova submit --topic my-topic --key ~/proof/miner.key --s3 s3://my-bucket/recipes --claim "error 0.12" --flops 1000000000 --dataset my-mix-v0 --wait ./recipe`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return runSubmit(cmd.Context(), env, &f, args[0])
		},
	}
	f.add(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&f.topicID, "topic", "", "id of the topic; 'prova topic list' has them")
	flags.StringVar(&f.key, "key", "", "secret file of the hotkey, mode 0600; 'prova keys new' makes one")
	flags.StringVar(&f.uri, "uri", "", "http(s) address of the tar for the host to fetch")
	flags.StringVar(&f.serve, "serve", "", "serve the tar from this process at `HOST:PORT` until the run has ended")
	flags.StringVar(&f.s3, "s3", "", "upload the tar to S3-compatible storage at `s3://BUCKET/PREFIX`, for the host to fetch it there")
	flags.StringVar(&f.public, "public-url", "", "address under which the host reaches --serve or --s3, when it is another one")
	flags.StringVar(&f.claim, "claim", "", "what the recipe achieves, in a sentence")
	decimalVar(flags, &f.flops, "flops", 0, "operations that one run uses at most: an exact integer, at most the topic's budget")
	flags.StringArrayVar(&f.hashes, "hash", nil, "content hash of training data; repeat for each")
	flags.StringArrayVar(&f.datasets, "dataset", nil, "id of a training data set; repeat for each")
	flags.StringVar(&f.architecture, "architecture", "", "label of the architecture, which nothing looks at")
	flags.BoolVar(&f.wait, "wait", false, "show position and phase until the run has ended")
	flags.DurationVar(&f.every, "every", 2*time.Second, "time between two looks of --wait")
	flags.BoolVar(&f.fresh, "new", false, "forget a kept submission of this artefact and sign a new one")
	flags.StringVar(&f.stateDir, "state", "", "folder of kept submissions; without it below XDG_STATE_HOME")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be signed and send nothing")
	flags.BoolVar(&f.json, "json", false, "print the end of the submission as one JSON object")
	return cmd
}

func (f *submitFlags) check() error {
	declared := false
	for _, entry := range append(append([]string{}, f.hashes...), f.datasets...) {
		declared = declared || strings.TrimSpace(entry) != ""
	}
	switch {
	case f.topicID == "":
		return usageError("--topic is missing: 'prova topic list' shows what is open")
	case !shape.Slug(f.topicID):
		hint := ""
		if twin := strings.ReplaceAll(strings.ToLower(f.topicID), "_", "-"); shape.Slug(twin) {
			hint = "; did you mean " + twin + "?"
		}
		return usageError("--topic %q must match [a-z0-9][a-z0-9-]{1,62}%s", f.topicID, hint)
	case f.key == "":
		return usageError("--key is missing: name the secret file of the hotkey ('prova keys new' makes one)")
	case f.uri != "" && f.serve != "", f.uri != "" && f.s3 != "", f.serve != "" && f.s3 != "":
		return usageError("--uri, --serve and --s3 exclude each other")
	case f.uri == "" && f.serve == "" && f.s3 == "":
		return usageError("say where the host fetches the tar: --uri URL, --serve HOST:PORT, or --s3 s3://BUCKET/PREFIX")
	case f.public != "" && f.uri != "":
		return usageError("--public-url belongs to --serve or --s3")
	case strings.TrimSpace(f.claim) == "":
		return usageError("--claim is missing: say what the recipe achieves")
	case f.flops == 0:
		return usageError("--flops is missing: name the operations that a run uses at most; whatever is measured is held to it")
	case !declared:
		return usageError("the manifest is empty: declare the training data with --hash or --dataset, or the host rejects the submission without a run")
	case f.every <= 0:
		return usageError("--every %s must be longer than nothing", f.every)
	}
	return nil
}

func runSubmit(ctx context.Context, env *Env, f *submitFlags, path string) (err error) {
	var bucket *upload
	if f.s3 != "" {
		if bucket, err = openUpload(env, f.s3, f.public); err != nil {
			return err
		}
	}
	key, err := sr25519.ReadSecret(f.key)
	if err != nil {
		return err
	}
	made, err := readArtifact(path)
	if err != nil {
		return err
	}
	client, err := f.client(env)
	if err != nil {
		return err
	}
	d, err := openTopic(ctx, client, f.topicID)
	if err != nil {
		return err
	}
	if f.flops > d.FLOPsBudget {
		return fmt.Errorf("--flops %d exceeds the topic's budget of %d", f.flops, d.FLOPsBudget)
	}
	uri := f.uri
	if f.serve != "" && !f.dryRun {
		var stop func() error
		if uri, stop, err = serveArtifact(ctx, f.serve, f.public, made); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if bucket != nil {
		if uri, err = bucket.address(ctx, made, time.Now()); err != nil {
			return err
		}
	}
	s := newSubmission(f, key, made, uri)
	s.presigned = bucket != nil && bucket.presigns()
	fmt.Fprintf(env.Stderr, "topic       %s\nhotkey      %s\nartefact    %s (%d bytes, %d files)\nsubmission  %s\n",
		f.topicID, s.Hotkey, made.digest, len(made.data), made.files, s.digest())
	if made.note != "" {
		fmt.Fprintf(env.Stderr, "note        %s\n", made.note)
	}
	if f.dryRun {
		_, err := fmt.Fprintf(env.Stdout, "signed      %x\n", s.Payload())
		return err
	}
	if f.uri != "" {
		if err := checkServed(ctx, env, "--uri", f.uri, made); err != nil {
			return err
		}
	}
	kept := keptFile{dir: f.stateDir, env: env}
	body, err := kept.find(s, client.URL(), f.fresh)
	switch {
	case err != nil:
		return err
	case body != nil:
		if err := resume(env, &kept); err != nil {
			return err
		}
		if bucket != nil {
			bucket.noteEnd(env, s.uri, time.Now())
		}
	default:
		if bucket != nil {
			if err := bucket.put(ctx, env, uri, made); err != nil {
				return err
			}
		}
		if body, err = kept.sign(s, client.URL(), key); err != nil {
			return err
		}
	}
	return sendSubmission(ctx, env, f, client, s, body, &kept)
}

// resume says what becomes of a kept submission: one that was refused without a row
// has no run that could be rejoined.
func resume(env *Env, kept *keptFile) error {
	if !kept.kept.Refused {
		_, err := fmt.Fprintln(env.Stderr, "kept        the same submission was sent before; rejoining it (--new signs another one)")
		return err
	}
	fmt.Fprintln(env.Stderr, "kept        the same submission was refused before, without a row; sent again as it was (--new signs another one)")
	return kept.mark(false)
}

// openTopic asks for the topic and says early what the gate would.
func openTopic(ctx context.Context, client *remote.Client, id string) (*topic.Document, error) {
	d, err := client.Topic(ctx, id)
	if remote.IsStatus(err, http.StatusNotFound) {
		docs, _, listErr := client.Topics(ctx, "")
		if listErr != nil {
			return nil, err
		}
		open := make([]string, len(docs))
		for i, d := range docs {
			open[i] = d.ID
		}
		hint := ""
		if meant := near.Word(id, open); meant != "" {
			hint = "; did you mean " + meant + "?"
		}
		return nil, &ExitError{Code: submitRefused, Err: fmt.Errorf("%s has no topic %s; open are: %s%s", client.URL(), id, listed(open), hint)}
	}
	if err != nil {
		return nil, err
	}
	if d.Status != topic.Open {
		return nil, &ExitError{Code: submitRefused, Err: fmt.Errorf("topic %s is not open: its status is %s", id, d.Status)}
	}
	return d, nil
}

func sendSubmission(ctx context.Context, env *Env, f *submitFlags, client *remote.Client, s *submission, body []byte, kept *keptFile) error {
	p, err := client.Submit(ctx, body)
	if err != nil {
		if err := kept.markRefused(err); err != nil {
			return err
		}
		return submitFault(err)
	}
	if p.SubmissionDigest != s.digest() {
		return fmt.Errorf("the host took the submission under the digest %s, and its own is %s; is the server what it should be?", p.SubmissionDigest, s.digest())
	}
	if !p.Done() && (f.wait || f.serve != "") {
		last := ""
		p, err = client.Wait(ctx, p.SubmissionDigest, remote.Wait{
			Every: f.every,
			Progress: func(p *remote.Progress) {
				if line := progressLine(p); line != last {
					fmt.Fprint(env.Stderr, line)
					last = line
				}
			},
			Trouble: func(err error) { fmt.Fprintf(env.Stderr, "waiting     %s\n", oneLine(err.Error())) },
		})
		if err != nil {
			return &ExitError{Code: submitUnknown, Err: fmt.Errorf("%w; the run goes on without its client: run the same command again to see its end", err)}
		}
	}
	switch p.State {
	case remote.Stored:
		err = kept.forget()
	case remote.Refused:
		err = kept.mark(true)
	}
	if err != nil {
		return err
	}
	return reportSubmission(ctx, env, f, client, p)
}

// submitFault gives a refusal of the gate its exit status and, where the text of
// the gate does not have it, what to do.
func submitFault(err error) error {
	var refusal *remote.Refusal
	switch {
	case errors.Is(err, remote.ErrUnreachable):
		return &ExitError{Code: submitUnknown, Err: fmt.Errorf("%w; whether the submission was taken is not known: run the same command again, it rejoins", err)}
	case !errors.As(err, &refusal):
		return err
	case refusal.Temporary():
		again := "try again later"
		if refusal.RetryAfter > 0 {
			again = "try again in " + refusal.RetryAfter.String()
		}
		return &ExitError{Code: submitLater, Err: fmt.Errorf("refused for now: %w; nothing was stored: %s with the same command", err, again)}
	case refusal.Status == http.StatusConflict:
		return &ExitError{Code: submitRefused, Err: fmt.Errorf("refused: %w; --new signs a new nonce once the run in flight has ended", err)}
	}
	return &ExitError{Code: submitRefused, Err: fmt.Errorf("refused: %w; nothing was stored", err)}
}

func progressLine(p *remote.Progress) string {
	switch p.State {
	case remote.Queued:
		if p.Position > 0 {
			return fmt.Sprintf("queued      position %d\n", p.Position)
		}
		return "queued\n"
	case remote.Running:
		phase := p.Phase
		if phase == "" {
			phase = "started"
		}
		return fmt.Sprintf("running     %s, %s\n", phase, p.Age.Round(time.Second))
	}
	return ""
}

func reportSubmission(ctx context.Context, env *Env, f *submitFlags, client *remote.Client, p *remote.Progress) error {
	if f.json {
		if _, err := env.Stdout.Write(append(p.JSON, '\n')); err != nil {
			return err
		}
	}
	switch p.State {
	case remote.Refused:
		code := submitRefused
		if p.Refusal.Temporary() {
			code = submitLater
		}
		return &ExitError{Code: code, Err: fmt.Errorf("the run ended without a row: %w", p.Refusal)}
	case remote.Stored:
	default:
		if f.json {
			return nil
		}
		_, err := fmt.Fprintf(env.Stdout, "submission  %s\n%snote        the same command with --wait shows its end\n", p.SubmissionDigest, progressLine(p))
		return err
	}
	if !f.json {
		fmt.Fprintf(env.Stdout, "row         %s\nstate       %s\n%s", p.Row.ID, remote.Printable(string(p.Row.State)), rowReason(ctx, client, p.Row))
	}
	if !p.Row.Eligible {
		return &ExitError{Code: submitRejected}
	}
	return nil
}

// rowReason says why a row has its state, as far as the host shows it.
func rowReason(ctx context.Context, client *remote.Client, a *intake.Answer) string {
	row, err := client.Row(ctx, a.ID)
	if err != nil {
		return fmt.Sprintf("note        the row itself could not be read: %s\n", oneLine(err.Error()))
	}
	return reasonLines(row, topicOf(ctx, client, row))
}

// signedBody is the wire form of a submission (R§11.1, R§11.5).
type signedBody struct {
	MinerHotkey     string       `json:"miner_hotkey"`
	ArtifactDigest  string       `json:"artifact_digest"`
	TopicID         string       `json:"topic_id"`
	ArtifactURI     string       `json:"artifact_uri"`
	Claim           string       `json:"claim"`
	DeclaredFLOPs   uint64       `json:"declared_flops"`
	Architecture    string       `json:"architecture,omitempty"`
	Manifest        wireManifest `json:"manifest"`
	HotkeySignature string       `json:"hotkey_signature"`
	SubmitNonce     string       `json:"submit_nonce"`
}

type wireManifest struct {
	TrainContentHashes []string `json:"train_content_hashes"`
	TrainDatasetIDs    []string `json:"train_dataset_ids"`
}

// submission is what is signed, and what goes with it unsigned.
type submission struct {
	intake.Signed
	uri, architecture string
	// presigned: the query of uri says only who signed it and when, and an earlier
	// address of the same object is as good.
	presigned bool
}

func newSubmission(f *submitFlags, key *sr25519.SecretKey, made *artifact, uri string) *submission {
	return &submission{
		Signed: intake.Signed{
			Hotkey: key.Public().String(), TopicID: f.topicID, ArtifactDigest: made.digest, DeclaredFLOPs: f.flops,
			Claim: f.claim, Manifest: intake.Manifest{ContentHashes: f.hashes, DatasetIDs: f.datasets},
		},
		uri: uri, architecture: f.architecture,
	}
}

func (s *submission) digest() string { return intake.Digest(s.Hotkey, s.TopicID, s.ArtifactDigest) }

// body writes the wire form with a signature, and reads it back as a host does.
func (s *submission) body(signature string) ([]byte, error) {
	data, err := json.Marshal(signedBody{
		MinerHotkey: s.Hotkey, ArtifactDigest: s.ArtifactDigest, TopicID: s.TopicID, ArtifactURI: s.uri, Claim: s.Claim,
		DeclaredFLOPs: s.DeclaredFLOPs, Architecture: s.architecture,
		Manifest:        wireManifest{s.Manifest.ContentHashes, s.Manifest.DatasetIDs},
		HotkeySignature: signature, SubmitNonce: s.Nonce,
	})
	if err != nil {
		return nil, fmt.Errorf("the submission is not text in UTF-8: %w", err)
	}
	if len(data) > intake.MaxBody {
		return nil, fmt.Errorf("the submission has %d bytes, and a host reads %d; declare fewer hashes", len(data), intake.MaxBody)
	}
	if _, err := intake.Parse(data); err != nil {
		return nil, err
	}
	return data, nil
}
