package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/remote"
)

// payoutDiffers is the exit status of an audit that came to another result.
const payoutDiffers = 2

type payoutFlags struct {
	remoteFlags
	epoch         uint64
	hotkeys, sign string
	snapshot, out string
	rows, json    bool
}

func newResearchPayoutCmd(env *Env) *cobra.Command {
	var f payoutFlags
	cmd := &cobra.Command{
		Use:   "payout",
		Short: "Recompute who is paid what in a closed epoch, and explain each figure",
		Long: `Download the snapshot of a closed epoch, compute the payout from it on this
machine, compare it with what the server says, and explain where each figure comes
from. Nothing of the result is the server's.

--hotkeys names the file of the hotkeys that are expected to have a weight: one a
line, or a JSON array. Each gets one leaf, with its score or with why it has none.
Without it the miners of the snapshot are taken, and no leaf can be signed: who is
expected is for the subnet to say.
--sign signs the leaves and writes them to --out: payload and signature in hex.
--rows also asks for the row behind each run of the snapshot and compares it.
--snapshot computes from a file, without a server.

Exit status: 0 the same result, 2 another one, 1 any other fault.`,
		Example: `  prova research payout --epoch 7
  prova research payout --epoch 7 --hotkeys hotkeys.txt --sign ~/proof/leaf.key --out leaves.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("epoch"):
				return usageError("--epoch is missing: 'prova research status' shows the current one; a payout is of a closed one")
			case f.hotkeys == "" && f.sign != "":
				return usageError("--hotkeys is missing: --sign needs the file of the hotkeys that are expected to have a weight")
			case (f.sign == "") != (f.out == ""):
				return usageError("--sign and --out belong together: the secret of the leaf key, and the file of the signed leaves")
			case f.snapshot != "" && f.rows:
				return usageError("--rows asks a server, and --snapshot does without one")
			}
			return runPayout(cmd.Context(), env, &f)
		},
	}
	f.add(cmd, false)
	flags := cmd.Flags()
	decimalVar(flags, &f.epoch, "epoch", 0, "number of the closed epoch")
	flags.StringVar(&f.hotkeys, "hotkeys", "", "file of the expected hotkeys")
	flags.StringVar(&f.sign, "sign", "", "secret file of the leaf key, mode 0600")
	flags.StringVar(&f.out, "out", "", "file to write the signed leaves to")
	flags.StringVar(&f.snapshot, "snapshot", "", "file of the snapshot, instead of the server's")
	flags.BoolVar(&f.rows, "rows", false, "compare each run of the snapshot with its public row")
	flags.BoolVar(&f.json, "json", false, "print result, explanations and leaves as one JSON object")
	return cmd
}

func runPayout(ctx context.Context, env *Env, f *payoutFlags) error {
	var expected []payout.Hotkey
	var err error
	if f.hotkeys != "" {
		if expected, err = readHotkeys(f.hotkeys); err != nil {
			return err
		}
	}
	var key *sr25519.SecretKey
	if f.sign != "" {
		if key, err = sr25519.ReadSecret(f.sign); err != nil {
			return err
		}
	}
	a, err := f.audit(ctx, env)
	if err != nil {
		return err
	}
	if f.hotkeys == "" {
		expected = a.miners
	} else if err := refuseLoneSecret(f.hotkeys, expected, a.miners); err != nil {
		return err
	}
	leaves, unexpected := a.result.Leaves(expected)
	signed, err := signLeaves(leaves, key)
	if err != nil {
		return err
	}
	if f.json {
		err = a.writeJSON(env, expected, signed, unexpected)
	} else {
		err = a.print(env, expected, leaves, unexpected)
	}
	if err != nil {
		return err
	}
	if len(a.faults) > 0 {
		return &ExitError{Code: payoutDiffers, Err: fmt.Errorf("the audit of epoch %d found %s; no leaf was signed", f.epoch, strings.Join(a.faults, "; "))}
	}
	if key == nil {
		return nil
	}
	return writeLeaves(f.out, f.epoch, a.sum, key, signed)
}

// audit is what came out of recomputing an epoch.
type audit struct {
	sum    string // SHA-256 of the snapshot
	result *payout.Result
	miners []payout.Hotkey // of the snapshot's runs, sorted
	alone  bool            // nothing was compared with a server
	checks []string        // what was compared and is the same
	faults []string        // what is not
}

func (f *payoutFlags) audit(ctx context.Context, env *Env) (*audit, error) {
	var client *remote.Client
	var data []byte
	var err error
	if f.snapshot != "" {
		data, err = os.ReadFile(f.snapshot)
		data = bytes.TrimRight(data, "\r\n") // A snapshot has no line end; whatever saved it may have added one.
	} else if client, err = f.client(env); err == nil {
		data, err = client.Snapshot(ctx, f.epoch)
		if remote.IsStatus(err, http.StatusNotFound) {
			err = notClosed(ctx, client, f.epoch, err)
		}
	}
	if err != nil {
		return nil, err
	}
	snapshot, err := payout.ParseSnapshot(data)
	if err != nil {
		return nil, errors.New(remote.Printable(err.Error()))
	}
	if snapshot.Epoch != f.epoch {
		return nil, fmt.Errorf("the snapshot is of epoch %d, not of %d", snapshot.Epoch, f.epoch)
	}
	a := &audit{sum: fmt.Sprintf("%x", sha256.Sum256(data))}
	if a.result, err = payout.Payout(snapshot); err != nil {
		return nil, err
	}
	a.miners = minersOf(snapshot)
	if client == nil {
		a.alone = true
		return a, nil
	}
	if err := a.compare(ctx, client); err != nil {
		return nil, err
	}
	if f.rows {
		return a, a.compareRows(ctx, client, snapshot)
	}
	return a, nil
}

// notClosed says once that an epoch has no snapshot, and when it will have one.
func notClosed(ctx context.Context, client *remote.Client, epoch uint64, err error) error {
	epochs, listErr := client.Epochs(ctx)
	switch {
	case listErr != nil:
		return err
	case epoch > epochs.Current:
		return fmt.Errorf("epoch %d has not begun at %s: the current one is %d", epoch, client.URL(), epochs.Current)
	case epoch < epochs.Current:
		return fmt.Errorf("epoch %d is over at %s and not closed yet: runs that it accepted have to end first", epoch, client.URL())
	case epochs.ClosesAt == nil:
		return fmt.Errorf("epoch %d is not closed at %s: it is a fixed epoch, which never closes", epoch, client.URL())
	}
	return fmt.Errorf("epoch %d is not closed at %s: it closes at %s", epoch, client.URL(), epochs.ClosesAt.UTC().Format(time.RFC3339))
}

// minersOf lists who has a run in a snapshot.
func minersOf(s *payout.Snapshot) []payout.Hotkey {
	var list []payout.Hotkey
	for _, t := range s.Topics {
		for _, run := range t.Runs {
			list = append(list, run.Miner)
		}
	}
	slices.SortFunc(list, func(a, b payout.Hotkey) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

func (a *audit) found(same bool, what, fault string) {
	if same {
		a.checks = append(a.checks, what)
	} else {
		a.faults = append(a.faults, fault)
	}
}

// compare holds the server's own words against what was computed.
func (a *audit) compare(ctx context.Context, client *remote.Client) error {
	epochs, err := client.Epochs(ctx)
	if err != nil {
		return err
	}
	if closed := epochs.Find(a.result.Epoch); closed == nil {
		a.found(false, "", "a snapshot of an epoch that the server does not list as closed")
	} else {
		a.found(strings.EqualFold(closed.SHA256, a.sum), "the snapshot has the hash that the server lists",
			fmt.Sprintf("a snapshot of hash %s where the server lists %s", a.sum, remote.Printable(closed.SHA256)))
	}
	theirs, err := client.Payout(ctx, a.result.Epoch)
	if err != nil {
		return err
	}
	ours, err := a.result.Encode()
	if err != nil {
		return err
	}
	same := bytes.Equal(bytes.TrimSpace(theirs), ours)
	if !same { // Spaces and the order of members say nothing about a payout.
		said, parsed := canonjson.ParseStrict(theirs)
		own, encoded := canonjson.ParseStrict(ours)
		same = parsed == nil && encoded == nil && canonjson.Equal(said, own)
	}
	a.found(same, "the server's payout is the one computed here", "another payout than the server's"+difference(a.result, theirs))
	return nil
}

// difference names the first score that the server has otherwise.
func difference(ours *payout.Result, theirs []byte) string {
	var said struct {
		Scores []payout.Score `json:"scores"`
	}
	if json.Unmarshal(theirs, &said) != nil {
		return ", which is no payout at all"
	}
	have := map[payout.Hotkey]uint64{}
	for _, s := range said.Scores {
		have[s.Miner] = s.Score
	}
	for _, s := range ours.Scores {
		if got := have[s.Miner]; got != s.Score {
			return fmt.Sprintf(": miner %s has %d here and %d there", s.Miner, s.Score, got)
		}
		delete(have, s.Miner)
	}
	for miner, score := range have {
		if score != 0 {
			return fmt.Sprintf(": miner %s has 0 here and %d there", miner, score)
		}
	}
	return ": the scores are the same, the figures behind them are not"
}

// compareRows holds each run of the snapshot against the row that anyone can read.
func (a *audit) compareRows(ctx context.Context, client *remote.Client, s *payout.Snapshot) error {
	runs, wrong := 0, len(a.faults)
	for _, t := range s.Topics {
		d, err := client.Topic(ctx, t.ID)
		if err != nil {
			return fmt.Errorf("topic %s: %w", t.ID, err)
		}
		for _, run := range t.Runs {
			id := intake.ID(run.Row).String()
			row, err := client.Row(ctx, id)
			if err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			runs++
			primary := row.Verdict.Harness.Primary(d.Metric.Family == "custom", d.Metric.Primary)
			switch {
			case row.TopicID != t.ID || row.Epoch != s.Epoch || row.MinerHotkey != run.Miner.String() || row.ArtifactDigest != run.ArtifactDigest:
				a.found(false, "", id+": a row of another topic, epoch, miner or artefact than in the snapshot")
			case !row.Verdict.Pass:
				a.found(false, "", id+": a row that did not pass")
			case (primary == nil) != (run.Primary == nil) || primary != nil && *primary != *run.Primary:
				a.found(false, "", id+": a row with another primary than in the snapshot")
			}
		}
	}
	if len(a.faults) == wrong {
		a.checks = append(a.checks, plural(runs, "run")+" of the snapshot compared with the public rows: the same")
	}
	return nil
}

func (a *audit) print(env *Env, expected []payout.Hotkey, leaves []payout.Leaf, unexpected []payout.Hotkey) error {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch       %d\nsnapshot    sha256 %s\n", a.result.Epoch, a.sum)
	for _, c := range a.checks {
		fmt.Fprintf(&b, "checked     %s\n", c)
	}
	if a.alone {
		b.WriteString("note        compared with no server: the snapshot is as the file has it\n")
	}
	for _, s := range a.result.Scores {
		b.WriteString("\n" + a.result.Explain(s.Miner).String())
	}
	if len(a.result.Scores) == 0 {
		b.WriteString("\nnobody earned a score\n")
	}
	b.WriteString("\nleaves\n")
	for _, l := range leaves {
		fmt.Fprintf(&b, "  %s  %s\n", l.Hotkey, leafText(l))
	}
	fmt.Fprintf(&b, "  %s expected\n", plural(len(expected), "hotkey"))
	for _, h := range unexpected {
		fmt.Fprintf(&b, "  %s  earned a score and is not among the expected: no leaf pays it\n", h)
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

func leafText(l payout.Leaf) string {
	if l.Scored {
		return "score " + strconv.FormatUint(l.Score, 10)
	}
	return "no score: " + l.Reason.String()
}

// signedLeaf is one leaf as it is written: exactly one of score and reason.
type signedLeaf struct {
	Hotkey    payout.Hotkey `json:"hotkey"`
	Score     *uint64       `json:"score,omitzero"`
	Reason    string        `json:"reason,omitzero"`
	Payload   string        `json:"payload"`
	Signature string        `json:"signature,omitzero"`
}

func signLeaves(leaves []payout.Leaf, key *sr25519.SecretKey) ([]signedLeaf, error) {
	out := make([]signedLeaf, len(leaves))
	for i, l := range leaves {
		payload := l.Payload()
		out[i] = signedLeaf{Hotkey: l.Hotkey, Payload: hex.EncodeToString(payload)}
		if l.Scored {
			out[i].Score = &leaves[i].Score
		} else {
			out[i].Reason = l.Reason.String()
		}
		if key != nil {
			signature, err := key.Sign(rand.Reader, payout.LeafDomain, payload)
			if err != nil {
				return nil, err
			}
			out[i].Signature = hex.EncodeToString(signature[:])
		}
	}
	return out, nil
}

func writeLeaves(path string, epoch uint64, sum string, key *sr25519.SecretKey, leaves []signedLeaf) error {
	data, err := json.Marshal(struct {
		Format    string       `json:"format"`
		Domain    string       `json:"domain"`
		PublicKey string       `json:"public_key"`
		Epoch     uint64       `json:"epoch"`
		Snapshot  string       `json:"snapshot_sha256"`
		Leaves    []signedLeaf `json:"leaves"`
	}{"prova-leaves/1", payout.LeafDomain, key.Public().String(), epoch, sum, leaves}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return writeSecret(path, append(data, '\n'))
}

func (a *audit) writeJSON(env *Env, expected []payout.Hotkey, leaves []signedLeaf, unexpected []payout.Hotkey) error {
	if len(a.faults) > 0 {
		for i := range leaves {
			leaves[i].Signature = "" // What the audit refuses is not signed.
		}
	}
	explained := make([]payout.Explanation, len(expected))
	for i, h := range expected {
		explained[i] = a.result.Explain(h)
	}
	data, err := json.Marshal(struct {
		Epoch      uint64               `json:"epoch"`
		Snapshot   string               `json:"snapshot_sha256"`
		Checked    []string             `json:"checked"`
		Faults     []string             `json:"faults"`
		Result     *payout.Result       `json:"result"`
		Explained  []payout.Explanation `json:"explained"`
		Leaves     []signedLeaf         `json:"leaves"`
		Unexpected []payout.Hotkey      `json:"unexpected"`
	}{a.result.Epoch, a.sum, a.checks, a.faults, a.result, explained, leaves, unexpected}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return writeJSON(env, data)
}
