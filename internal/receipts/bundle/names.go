package bundle

import (
	"io/fs"
	"strings"
)

// The names of §1 are decided here and nowhere else.

// ValidTrack reports whether s can name a track: ^[a-z][a-z0-9-]{0,31}$.
func ValidTrack(s string) bool {
	return len(s) >= 1 && len(s) <= 32 && lower(s[0]) && all(s, nameByte)
}

// ValidTaskID reports whether s can name a task: ^[a-z0-9][a-z0-9-]{0,63}$.
func ValidTaskID(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && s[0] != '-' && all(s, nameByte)
}

// ValidProofID reports whether s has the form prf_YYYYMMDD_HHMMSS_xxxxxx, the
// last part lower-case hex.
func ValidProofID(s string) bool {
	return len(s) == 26 && s[:4] == "prf_" && all(s[4:12], digit) && s[12] == '_' &&
		all(s[13:19], digit) && s[19] == '_' && all(s[20:], hexByte)
}

// ValidEntryUUID reports whether s can name a log entry: 64 or 80 lower-case hex.
func ValidEntryUUID(s string) bool { return isHex(s, 64) || isHex(s, 80) }

// ValidDIDFolder reports whether a DID can name a folder of submissions. The
// DID's own form is another question (package did).
func ValidDIDFolder(s string) bool {
	return fs.ValidPath(s) && s != "." && !strings.ContainsAny(s, "/\\\x00")
}

func isHex(s string, n int) bool { return len(s) == n && all(s, hexByte) }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) bool    { return 'a' <= c && c <= 'z' }
func digit(c byte) bool    { return '0' <= c && c <= '9' }
func hexByte(c byte) bool  { return digit(c) || 'a' <= c && c <= 'f' }
func nameByte(c byte) bool { return lower(c) || digit(c) || c == '-' }

// segmentByte is what a path segment of a corpus file may hold (§5).
func segmentByte(c byte) bool {
	return lower(c) || digit(c) || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-'
}

// validCorpusFile reports whether s can name a file under corpora/<track>/files/.
func validCorpusFile(s string) bool {
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" || segment == "." || segment == ".." || !all(segment, segmentByte) {
			return false
		}
	}
	return true
}

// The paths of the layout.
const (
	SeasonPath      = "season.json"
	TrustPath       = "trust.json"
	EnrolmentsPath  = "enrolments.json"
	ResultsPath     = "results.json"
	CorrectionsPath = "corrections.json"
	submissionsDir  = "submissions"
)

// RulesPath is where the applied part of a track's rules is.
func RulesPath(track string) string { return "rules/" + track + ".json" }

// RulesTextPath is where the frozen text of a track's rules is.
func RulesTextPath(track string) string { return "rules/" + track + ".md" }

// ManifestPath is where the manifest of a track's corpus is.
func ManifestPath(track string) string { return "corpora/" + track + "/manifest.json" }

// CorpusFilePath is where a corpus file is; file is the manifest's member.
func CorpusFilePath(track, file string) string { return "corpora/" + track + "/files/" + file }

// KeyPath is where a track's opened key is.
func KeyPath(track string) string { return "keys/" + track + ".json" }

// FreezePath is where a track's freeze proof is.
func FreezePath(track string) string { return "freeze/" + track + ".json" }

// SubmissionPath is where a participant's submission for a task is.
func SubmissionPath(did, taskID string) string {
	return submissionsDir + "/" + did + "/" + taskID + ".json"
}

// ProofPath is where the public view of a proof is.
func ProofPath(id string) string { return "proofs/" + id + ".json" }

// LogEntryPath is where a transparency-log entry is.
func LogEntryPath(uuid string) string { return "log-entries/" + uuid + ".json" }

// ValidPath reports whether name is a path of the layout of §1, so that a
// writer cannot put a file where no reader looks.
func ValidPath(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	switch name {
	case SeasonPath, TrustPath, EnrolmentsPath, ResultsPath, CorrectionsPath:
		return true
	}
	dir, rest, ok := strings.Cut(name, "/")
	if !ok {
		return false
	}
	stem, isJSON := strings.CutSuffix(rest, ".json")
	switch dir {
	case "rules":
		text, isText := strings.CutSuffix(rest, ".md")
		return isJSON && ValidTrack(stem) || isText && ValidTrack(text)
	case "keys", "freeze":
		return isJSON && ValidTrack(stem)
	case "proofs":
		return isJSON && ValidProofID(stem)
	case "log-entries":
		return isJSON && ValidEntryUUID(stem)
	case submissionsDir:
		did, file, ok := strings.Cut(rest, "/")
		task, isJSON := strings.CutSuffix(file, ".json")
		return ok && isJSON && ValidDIDFolder(did) && ValidTaskID(task)
	case "corpora":
		track, file, ok := strings.Cut(rest, "/")
		if !ok || !ValidTrack(track) {
			return false
		}
		inFiles, ok := strings.CutPrefix(file, "files/")
		return file == "manifest.json" || ok && validCorpusFile(inFiles)
	}
	return false
}
