package bundle

import (
	"encoding/hex"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Key is keys/<track>.json: the sealed key, opened at close (§6).
type Key struct {
	Tasks map[string]KeyTask

	salt [32]byte
	raw  any // K as written; the commitment covers unknown members too
}

// KeyTask is what the key expects of one task.
type KeyTask struct {
	Verdict  string
	Families []string
	Control  bool
	Facts    []Fact // in the key's order
}

// Triplet is a (resource, field, value).
type Triplet struct {
	Resource, Field string
	Value           any
}

// Fact grounds a verdict; any of its equivalents does as well.
type Fact struct {
	Triplet
	Equivalents []Triplet
}

// Commitment recomputes the key commitment from salt and key, in hex.
func (k *Key) Commitment() string { return KeyCommitment(k.salt, k.raw) }

// KeyCommitment is SHA-256(salt ‖ C(key)) in hex (§6).
func KeyCommitment(salt [32]byte, key any) string {
	sum := commit.Seal(salt, key)
	return hex.EncodeToString(sum[:])
}

// ParseKey reads an opened key, which must name exactly the tasks given.
func ParseKey(path string, data []byte, taskIDs []string) (*Key, error) {
	d, v := parseDocument(path, data)
	if d.Failed() {
		return nil, d.result()
	}
	o := d.Object("", v)
	k := &Key{Tasks: make(map[string]KeyTask, len(taskIDs))}
	salt := d.HashOf("", o, "salt")
	var kObj *canonjson.Object
	_, k.raw = d.Member("", o, "key")
	kObj = d.Object("/key", k.raw)
	d.IntegerOf("/key", kObj, "season")
	d.TextOf("/key", kObj, "track")
	_, tasks := d.ObjectOf("/key", kObj, "tasks")
	for _, id := range taskIDs {
		at, task := d.ObjectOf("/key/tasks", tasks, id)
		k.Tasks[id] = readKeyTask(d, at, task)
	}
	for _, id := range tasks.Names() {
		if _, ok := k.Tasks[id]; !ok {
			d.Fail("/key/tasks/"+strict.Token(id), "is no task of the track: the key names exactly the track's tasks")
		}
	}
	if d.Failed() {
		return nil, d.result()
	}
	if _, err := hex.Decode(k.salt[:], []byte(salt)); err != nil {
		d.Fail("/salt", "must be 64 lower-case hexadecimal characters")
	}
	return k, d.result()
}

func readKeyTask(d document, at string, o *canonjson.Object) KeyTask {
	t := KeyTask{Verdict: d.TextOf(at, o, "verdict")}
	famAt, families := d.ArrayOf(at, o, "families")
	for i, f := range families {
		t.Families = append(t.Families, d.Text(strict.Index(famAt, i), f))
	}
	conAt, control := d.Member(at, o, "control")
	t.Control = d.Boolean(conAt, control)
	factsAt, facts := d.ArrayOf(at, o, "facts")
	for i, f := range facts {
		at := strict.Index(factsAt, i)
		fo := d.Object(at, f)
		fact := Fact{Triplet: readTriplet(d, at, fo)}
		eqAt, equivalents := d.ArrayOf(at, fo, "equivalents")
		for j, e := range equivalents {
			at := strict.Index(eqAt, j)
			fact.Equivalents = append(fact.Equivalents, readTriplet(d, at, d.Object(at, e)))
		}
		t.Facts = append(t.Facts, fact)
	}
	return t
}

func readTriplet(d document, at string, o *canonjson.Object) Triplet {
	t := Triplet{Resource: d.TextOf(at, o, "resource"), Field: d.TextOf(at, o, "field")}
	_, t.Value = d.Member(at, o, "value")
	return t
}
