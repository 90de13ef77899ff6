package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/internal/receipts/agent"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// PracticeOptions describe a practice season on this machine.
type PracticeOptions struct {
	// Dir receives everything: data/ (database, keys), bundle/ and index/.
	Dir string
	// Track is the track played.
	Track string
	// Window is how long the season is announced to be open; it is closed early,
	// as soon as every agent has finished.
	Window time.Duration
	// Own is the user's own agent, beside the built-in ones; nil for none.
	Own *OwnAgent
	// Progress is told each step; Logger takes the services' logs.
	Progress func(format string, args ...any)
	Logger   *slog.Logger
}

// OwnAgent is a command that takes part in a practice season.
type OwnAgent struct {
	Name, Command string
	// Stderr takes what the command says outside the protocol.
	Stderr io.Writer
}

// Practice is a practice season that was played to its end.
type Practice struct {
	Results *results.Results
	Names   map[string]string
	// BundleDir and IndexDir are the bundle and a static copy of the Index.
	BundleDir, IndexDir string
	// IndexURL is the Index of the running services, until Close.
	IndexURL string
	// Own is the DID of the user's own agent and Outcome how it ended.
	Own     string
	Outcome agent.Outcome

	server *Server
}

// Close stops the services.
func (p *Practice) Close() error { return p.server.Close() }

// Wait keeps the services up until the context ends.
func (p *Practice) Wait(ctx context.Context) error { return p.server.Wait(ctx) }

const (
	// openAfterFreeze is how long after the freeze a practice season opens: time
	// enough for the anchoring, which takes well below a second.
	openAfterFreeze = 3 * time.Second
	// agentTimeout bounds one built-in agent.
	agentTimeout = 5 * time.Minute
	// practiceMarker is in every folder that a practice season made, so that a
	// second one may replace it and nothing else.
	practiceMarker = ".prova-practice"
)

// PlayPractice plays a whole season on loopback: corpus, freeze, enrolment,
// agents, close, score, publication. Witnesses are embedded, so the season is
// labelled practice and its witnesses local, not independent.
func PlayPractice(ctx context.Context, o PracticeOptions) (_ *Practice, err error) {
	if err := preparePracticeDir(o.Dir); err != nil {
		return nil, err
	}
	c := practiceConfig(filepath.Join(o.Dir, "data"))
	corpusDir := filepath.Join(o.Dir, "corpus", o.Track)
	if err := buildPracticeCorpus(o.Track, corpusDir); err != nil {
		return nil, err
	}
	o.Progress("corpus built (practice: its key can be computed by anyone)")
	server, err := Start(ctx, c, nil, o.Logger)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Close())
		}
	}()
	o.Progress("issuer, corpus and season service listen on %s; limits on sign-ups and reads are off", server.PublicURL)
	operator := newOperator(&server.config, server.season, server.clock, o.Logger, o.Progress)
	operator.bundle = filepath.Join(o.Dir, "bundle")
	frozen, err := operator.freezeSoon(ctx, map[string]string{o.Track: corpusDir}, o.Window)
	if err != nil {
		return nil, err
	}
	o.Progress("frozen before the opening: proof %s", frozen[0].ProofID)
	p := &Practice{server: server, BundleDir: operator.bundle, IndexDir: filepath.Join(o.Dir, "index")}
	if err := playAgents(ctx, o, server, p); err != nil {
		return nil, err
	}
	if err := operator.CloseSeason(ctx); err != nil {
		return nil, err
	}
	if p.Results, err = operator.Score(ctx); err != nil {
		return nil, err
	}
	if _, err := operator.Publish(ctx); err != nil {
		return nil, err
	}
	o.Progress("scored from the bundle alone and published")
	p.Names = operator.Names(ctx)
	return p, server.showPublication(ctx, p)
}

// showPublication puts the season on the Index of the running services and
// writes a static copy of it.
func (s *Server) showPublication(ctx context.Context, p *Practice) error {
	s.site.mu.Lock()
	s.site.bundles[s.config.Season.Number] = p.BundleDir
	s.site.mu.Unlock()
	if err := s.site.refresh(ctx); err != nil {
		return err
	}
	p.IndexURL = s.PublicURL + "/"
	return s.site.Export(p.IndexDir)
}

// freezeSoon freezes a practice season that opens a few seconds later. On a
// machine so busy that the freeze was not anchored by then it tries again with
// more time: a freeze that was never proven does not fix the window.
func (o *Operator) freezeSoon(ctx context.Context, corpora map[string]string, length time.Duration) ([]Frozen, error) {
	for wait := openAfterFreeze; ; wait *= 3 {
		opens := o.clock().UTC().Add(wait).Truncate(time.Second).Add(time.Second)
		frozen, err := o.Freeze(ctx, FreezePlan{Corpora: corpora, Opens: opens, Closes: opens.Add(length), Practice: true})
		if err == nil || ctx.Err() != nil || wait > time.Minute || o.clock().Before(opens) {
			return frozen, err
		}
		o.progress("the freeze was not anchored before %s; freezing again with more time", opens.Format(time.TimeOnly))
	}
}

// practiceConfig is one machine on free loopback ports. Batches are large and
// closed by the operator, so that a practice season makes a handful of tokens.
func practiceConfig(dir string) Config {
	c := DefaultConfig()
	c.Dir = dir
	c.Listen = ListenConfig{Public: "127.0.0.1:0", Corpus: "127.0.0.1:0", Internal: "127.0.0.1:0"}
	c.Challenge.Open = true
	c.Issuer.SignupsPerHour, c.Issuer.ReadsPerHour, c.Issuer.BindsPerHour = 0, 0, 0
	c.Issuer.CheckMX = false
	c.Issuer.BatchAge = 10 * time.Second
	return c
}

// preparePracticeDir makes an empty folder, or empties one that an earlier
// practice season made. Anything else is not ours to remove.
func preparePracticeDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, practiceMarker)); err != nil {
			return fmt.Errorf("%s is not empty and was not made by a practice season: give another --dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, practiceMarker), nil, 0o644)
}

func buildPracticeCorpus(trackName, dir string) error {
	c, err := corpus.Build(corpus.Practice(trackName))
	if err != nil {
		return err
	}
	return c.Write(dir)
}

// playAgents enrols the built-in agents and the user's own, waits for the
// opening and lets all of them work side by side.
func playAgents(ctx context.Context, o PracticeOptions, s *Server, p *Practice) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, reference := range agent.References() {
		access, work, err := s.join(ctx, reference.Name, fmt.Sprintf("reference-%d@agents.prova.test", i+1), "")
		if err != nil {
			return err
		}
		err = s.season.MarkReference(ctx, s.config.Season.Number, access.AgentDID, season.Run{
			Model: "none", Version: buildVersion(), Framework: "Prova built-in agent", Prompt: reference.Describe["en"],
		})
		if err != nil {
			return err
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, agentTimeout)
			defer cancel()
			client := agent.NewClient(access)
			if err := client.AwaitOpen(ctx); err != nil {
				return fmt.Errorf("agent %s: %w", reference.Name, err)
			}
			began := s.clock()
			if err := reference.Run(ctx, client, work); err != nil {
				return fmt.Errorf("agent %s: %w", reference.Name, err)
			}
			o.Progress("agent %q has submitted (%.1f s)", reference.Name, s.clock().Sub(began).Seconds())
			return nil
		})
	}
	if o.Own != nil {
		access, work, err := s.join(ctx, o.Own.Name, "own@agents.prova.test", "")
		if err != nil {
			return err
		}
		p.Own = access.AgentDID
		group.Go(func() error {
			if err := agent.NewClient(access).AwaitOpen(ctx); err != nil {
				return err
			}
			o.Progress("your agent starts: %s", o.Own.Command)
			// Past the announced close nothing it submits is taken.
			ctx, cancel := context.WithTimeout(ctx, o.Window)
			defer cancel()
			p.Outcome, err = agent.RunCommand(ctx, access, work, o.Own.Command, agent.RunOptions{Stderr: o.Own.Stderr})
			return err
		})
	}
	o.Progress("agents enrolled; waiting for the opening")
	return group.Wait()
}

func (s *Server) join(ctx context.Context, name, email, stack string) (*agent.Access, *agent.Work, error) {
	return agent.Join(ctx, agent.JoinOptions{
		IssuerURL: s.PublicURL, SeasonURL: s.PublicURL, Season: int(s.config.Season.Number),
		Name: name, Email: email, DeclaredStack: stack, Rand: rand.Reader,
	})
}

// buildVersion is the version of this binary as the toolchain recorded it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
