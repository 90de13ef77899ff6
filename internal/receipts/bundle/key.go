package bundle

import (
	"encoding/hex"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
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
	if d.err != nil {
		return nil, d.err
	}
	o := d.object("", v)
	k := &Key{Tasks: make(map[string]KeyTask, len(taskIDs))}
	salt := d.hashOf("", o, "salt")
	var kObj *canonjson.Object
	_, k.raw = d.member("", o, "key")
	kObj = d.object("/key", k.raw)
	d.integerOf("/key", kObj, "season")
	d.textOf("/key", kObj, "track")
	_, tasks := d.objectOf("/key", kObj, "tasks")
	for _, id := range taskIDs {
		at, task := d.objectOf("/key/tasks", tasks, id)
		k.Tasks[id] = readKeyTask(d, at, task)
	}
	for _, id := range tasks.Names() {
		if _, ok := k.Tasks[id]; !ok {
			d.fail("/key/tasks/"+escapeToken(id), "is no task of the track: the key names exactly the track's tasks")
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	if _, err := hex.Decode(k.salt[:], []byte(salt)); err != nil {
		d.fail("/salt", "must be 64 lower-case hexadecimal characters")
	}
	return k, d.result()
}

func readKeyTask(d *document, at string, o *canonjson.Object) KeyTask {
	t := KeyTask{Verdict: d.textOf(at, o, "verdict")}
	famAt, families := d.arrayOf(at, o, "families")
	for i, f := range families {
		t.Families = append(t.Families, d.text(pointerIndex(famAt, i), f))
	}
	conAt, control := d.member(at, o, "control")
	t.Control = d.boolean(conAt, control)
	factsAt, facts := d.arrayOf(at, o, "facts")
	for i, f := range facts {
		at := pointerIndex(factsAt, i)
		fo := d.object(at, f)
		fact := Fact{Triplet: readTriplet(d, at, fo)}
		eqAt, equivalents := d.arrayOf(at, fo, "equivalents")
		for j, e := range equivalents {
			at := pointerIndex(eqAt, j)
			fact.Equivalents = append(fact.Equivalents, readTriplet(d, at, d.object(at, e)))
		}
		t.Facts = append(t.Facts, fact)
	}
	return t
}

func readTriplet(d *document, at string, o *canonjson.Object) Triplet {
	t := Triplet{Resource: d.textOf(at, o, "resource"), Field: d.textOf(at, o, "field")}
	_, t.Value = d.member(at, o, "value")
	return t
}
