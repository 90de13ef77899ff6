package index

import (
	"slices"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// archiveName is the file that the season service serves a bundle as.
const archiveName = "bundle.tar.zst"

// command is a line for a shell and what it does.
type command struct {
	Line string `json:"command"`
	Text string `json:"text"`
}

// replayCommands compute a season again from its bundle: the archive, or a folder.
func replayCommands(c *catalogue, bundle string) []command {
	return []command{
		{"prova replay " + bundle, c.Must("verify.replay")},
		{"prova replay --trust my-trust.json " + bundle, c.Must("verify.replay.trust")},
	}
}

// seasonCommands check one saved proof of a season by hand, whichever it is.
func (x *Index) seasonCommands(c *catalogue, e *edition) []command {
	plain := true
	for _, name := range e.bundle.TrackNames() {
		data, ok, err := e.view(e.bundle.Tracks[name].Freeze.ProofID)
		plain = plain && ok && err == nil && x.plainly(e, data)
	}
	out := proofCommands(c, e.requirement(), true, plain)
	if e.requirement() == receipt.RequireLocal && e.independent() {
		out[0].Text = c.Must("verify.proof.mixed")
	}
	return out
}

// independent reports whether the season's trust names an independent witness.
func (e *edition) independent() bool {
	return slices.ContainsFunc(e.bundle.Trust.Authorities, func(a timestamp.Authority) bool { return a.Independent }) ||
		slices.ContainsFunc(e.bundle.Trust.Logs, func(g tlog.Log) bool { return g.Independent })
}

// proofCommands begin with the line that answers as the page does. plain says that
// the keys and roots built into the program verify the proof, too: a line that
// answers "invalid" about a good proof would mislead.
func proofCommands(c *catalogue, require receipt.Require, entry, plain bool) []command {
	line, text := "prova verify --trust trust.json", "verify.proof.trust"
	switch require {
	case receipt.RequireLocal:
		text = "verify.proof.local"
		line += " --require local"
	case receipt.RequireBoth:
		line += " --require both"
	case receipt.RequireAny:
	}
	if entry {
		line += " --log-entry log-entry.json"
	}
	out := []command{{line + " proof.json", c.Must(text)}}
	if plain {
		out = append(out, command{"prova verify proof.json", c.Must("verify.proof")})
	}
	return out
}

// requirement is what a valid proof needs by the policy of its season.
func (e *edition) requirement() receipt.Require {
	switch policy := e.bundle.Season.Witnesses; {
	case policy.AllowLocal:
		return receipt.RequireLocal
	case policy.RequireLog:
		return receipt.RequireBoth
	}
	return receipt.RequireAny
}

// plainly reports whether a proof is valid by the keys and independent witnesses
// that are built into the program.
func (x *Index) plainly(e *edition, data []byte) bool {
	p, err := receipt.Parse(data)
	if err != nil {
		return false
	}
	return x.builtin.Verify(p, receipt.VerifyOptions{Entry: e.entry}).Verdict == receipt.VerdictValid
}
