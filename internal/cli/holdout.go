package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

// holdoutSize is the number of records that every pin asks for (R§1).
const holdoutSize = 120

// newHoldoutCmd groups the ceremonies around the sealed records of a topic.
func newHoldoutCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "holdout",
		Short: "Select, commit to and check the sealed records of a research topic",
		Long: `Select, commit to and check the sealed records of a research topic.

The records are what a miner must never see: their file stays with the operator
and its host, mode 0600 and outside every git checkout. Nothing printed here says
what a record holds; the topic carries only their commitment.`,
		Example: `  prova holdout select --topic-id my-topic --catalog catalog.json --salt - --out ~/proof/holdout.json
  prova holdout verify ~/proof/holdout.json --topic ~/proof/my-topic.signed.json`,
	}
	cmd.AddCommand(newHoldoutSelectCmd(env), newHoldoutCommitCmd(env), newHoldoutVerifyCmd(env))
	return cmd
}

func newHoldoutSelectCmd(env *Env) *cobra.Command {
	var topicID, catalog, salt, exclude, out string
	var size int
	var firstID uint32
	var synthetic bool
	cmd := &cobra.Command{
		Use:   "select",
		Short: "Select a topic's records from a catalog and print their commitment",
		Long: `Select a topic's records from a catalog and print their commitment.

From each of the five scored splits the records of lowest rank are taken; the rank
of a record is a hash of the salt and the record's id. So the choice can be
repeated by whoever has the salt, and by nobody else: keep it secret and pass it on
standard input, which no list of processes shows.

The catalog is a JSON array of {id, split, dataset_id, content_sha256, token_count}.
Records of --exclude, an array of ids or an earlier holdout file, never enter.
--synthetic makes records that anyone can compute, for development only.

A holdout file that is there keeps the records of other topics; those of this topic
are never replaced.`,
		Example: `  (umask 077; openssl rand -hex 32 > salt); prova holdout select --topic-id my-topic --catalog catalog.json --salt - --out ~/proof/holdout.json < salt
  prova holdout select --topic-id my-topic --synthetic --out /tmp/holdout.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case out == "":
				return usageError("--out is missing: name the file to write the records to, outside every git checkout")
			case !shape.Slug(topicID):
				return usageError("--topic-id %q must match [a-z0-9][a-z0-9-]{1,62}", topicID)
			case synthetic && (catalog != "" || salt != "" || exclude != ""):
				return usageError("--synthetic excludes --catalog, --salt and --exclude: its records are computed")
			case !synthetic && catalog == "":
				return usageError("--catalog is missing: name the records to select from, or say --synthetic for development")
			case !synthetic && salt == "":
				return usageError("--salt is missing: --salt - reads it from standard input")
			case cmd.Flags().Changed("first-id") && !synthetic:
				return usageError("--first-id is for --synthetic: the records of a catalog have their ids")
			}
			var records []holdout.Record
			var err error
			if synthetic {
				records, err = syntheticHoldout(size, firstID)
			} else {
				records, err = selectHoldout(env, catalog, salt, exclude, size)
			}
			if err != nil {
				return err
			}
			if err := holdout.Check(records, size); err != nil {
				return err
			}
			// Records that are there are never replaced: a lost holdout closes its topic for good.
			err = putSecret(out, func(old []byte) ([]byte, error) { return holdout.Put(old, topicID, records) })
			if errors.Is(err, holdout.ErrHasTopic) {
				return fmt.Errorf("%s has records of %s already and they are never replaced; name another output or move it away", out, topicID)
			}
			if err != nil {
				return err
			}
			note := "keep the file and the salt secret; put the commitment into the topic as holdout_commitment"
			if synthetic {
				note = "synthetic records, which anyone can compute: for development only"
			}
			_, err = fmt.Fprintf(env.Stdout, "holdout     %s\nslice       %s\nrecords     %d, %d of each split\ncommitment  %x\nnote        %s\n",
				out, holdout.SliceID(topicID), size, size/len(holdout.Splits()), holdout.Commitment(records), note)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&topicID, "topic-id", "", "topic that the records are for")
	flags.StringVar(&catalog, "catalog", "", "JSON file of the records to select from")
	flags.StringVar(&salt, "salt", "", "secret of the selection; - reads it from standard input")
	decimalVar(flags, &size, "size", holdoutSize, "number of records, a multiple of 5")
	flags.StringVar(&exclude, "exclude", "", "JSON array of ids, or an earlier holdout file, whose records never enter")
	flags.BoolVar(&synthetic, "synthetic", false, "make synthetic records instead, for development only")
	decimalVar(flags, &firstID, "first-id", 1, "id of the first synthetic record")
	flags.StringVar(&out, "out", "", "file to write, mode 0600")
	return cmd
}

func syntheticHoldout(size int, firstID uint32) ([]holdout.Record, error) {
	splits := len(holdout.Splits())
	if size < splits || size%splits != 0 {
		return nil, usageError("--size %d must be a positive multiple of %d", size, splits)
	}
	return holdout.Synthetic(size/splits, firstID)
}

func selectHoldout(env *Env, catalog, salt, exclude string, size int) ([]holdout.Record, error) {
	secret, err := argumentOrStdin(env, salt, "salt")
	if err != nil {
		return nil, err
	}
	if err := holdout.CheckSalt(secret); err != nil {
		return nil, err
	}
	records, err := readHoldout(catalog, "")
	if err != nil {
		return nil, err
	}
	var never []uint32
	if exclude != "" {
		if never, err = readExcluded(exclude); err != nil {
			return nil, err
		}
	}
	return holdout.Select(records, secret, size, never)
}

// argumentOrStdin returns the value of a secret's flag, or for "-" one line of
// standard input without its end.
func argumentOrStdin(env *Env, value, what string) (string, error) {
	if value != "-" {
		return value, nil
	}
	const most = 4096
	data, err := io.ReadAll(io.LimitReader(env.Stdin, most+1))
	if err != nil {
		return "", fmt.Errorf("reading the %s: %w", what, err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if len(data) > most || strings.Contains(line, "\n") {
		return "", fmt.Errorf("the %s on standard input must be one line of at most %d bytes", what, most)
	}
	return line, nil
}

// readHoldout returns the records that a file has for a topic; with no topic, its
// list or the records of its only topic.
func readHoldout(path, topicID string) ([]holdout.Record, error) {
	f, err := parseHoldout(path)
	if err != nil {
		return nil, err
	}
	if named := f.Topics(); topicID == "" && len(named) > 0 {
		if len(named) > 1 {
			return nil, usageError("%s has records of several topics (%s): name one with --topic-id", path, strings.Join(named, ", "))
		}
		topicID = named[0]
	}
	records, ok := f.For(topicID)
	if !ok {
		return nil, fmt.Errorf("%s has no records for topic %q; it has %s", path, topicID, listed(f.Topics()))
	}
	return records, nil
}

func listed(topics []string) string {
	if len(topics) == 0 {
		return "none"
	}
	return strings.Join(topics, ", ")
}

func parseHoldout(path string) (*holdout.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := holdout.ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// readExcluded reads an array of ids, or the ids of a holdout file.
func readExcluded(path string) ([]uint32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if v, err := canonjson.ParseStrict(data); err == nil {
		if list, ok := v.([]any); ok && len(list) > 0 {
			if _, number := list[0].(canonjson.Int); number {
				var ids []uint32
				if err := strict.List(&ids, strict.Uint[uint32])(v, ""); err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
				return ids, nil
			}
		}
	}
	f, err := holdout.ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f.IDs(), nil
}

func newHoldoutCommitCmd(env *Env) *cobra.Command {
	var topicID string
	var size int
	cmd := &cobra.Command{
		Use:   "commit FILE",
		Short: "Check a holdout file and print the commitment of its records",
		Long: `Check a holdout file and print the commitment of its records, 64 hex characters
and nothing else, for the topic's holdout_commitment.`,
		Example: "  prova holdout commit ~/proof/holdout.json --topic-id my-topic",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			records, err := readHoldout(args[0], topicID)
			if err != nil {
				return err
			}
			if err := holdout.Check(records, size); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(env.Stdout, "%x\n", holdout.Commitment(records))
			return err
		},
	}
	cmd.Flags().StringVar(&topicID, "topic-id", "", "topic whose records are meant, when the file has several")
	decimalVar(cmd.Flags(), &size, "size", holdoutSize, "number of records there must be")
	return cmd
}

func newHoldoutVerifyCmd(env *Env) *cobra.Command {
	var topicFile, topicID, commitment string
	var size int
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a holdout file against the commitment of its topic",
		Long: `Check a holdout file against the commitment of its topic, as the control plane
does before it loads one: every rule for records, their number, the strata, and
the commitment. Exit status 1 and the first broken rule when it does not match.`,
		Example: `  prova holdout verify ~/proof/holdout.json --topic ~/proof/my-topic.signed.json
  prova holdout verify ~/proof/holdout.json --topic-id my-topic --commitment e2f97658…`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (topicFile == "") == (commitment == "") {
				return usageError("say what to check against: either --topic FILE or --commitment HEX")
			}
			if topicFile != "" {
				if cmd.Flags().Changed("topic-id") || cmd.Flags().Changed("size") {
					return usageError("--topic excludes --topic-id and --size: the document has both")
				}
				d, err := readNamedTopic(env, topicFile)
				if err != nil {
					return err
				}
				topicID, commitment, size = d.ID, d.HoldoutCommitment, d.HoldoutSize
			}
			records, err := readHoldout(args[0], topicID)
			if err != nil {
				return err
			}
			set, err := holdout.Verify(records, size, commitment)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			note := ""
			if set.Synthetic() {
				note = "note        synthetic records, which anyone can compute: for development only\n"
			}
			_, err = fmt.Fprintf(env.Stdout, "holdout     verified, %d records\ncommitment  %s\n%s", set.Len(), set.Commitment(), note)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&topicFile, "topic", "", "topic document or draft that carries the commitment; - reads standard input")
	flags.StringVar(&commitment, "commitment", "", "commitment to check against, 64 hex characters")
	flags.StringVar(&topicID, "topic-id", "", "topic whose records are meant, when the file has several")
	decimalVar(flags, &size, "size", holdoutSize, "number of records there must be")
	return cmd
}

// readNamedTopic reads a topic or a draft that has an id, without validating it.
func readNamedTopic(env *Env, path string) (*topic.Document, error) {
	d, err := readTopic(env, path)
	if err == nil && d.ID == "" {
		err = errors.New(path + ": the topic has no id")
	}
	return d, err
}
