package payout

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/research/family"
)

func bigWeights(weights []uint64) map[Hotkey]*big.Int {
	m := map[Hotkey]*big.Int{}
	for i, w := range weights {
		m[key(byte(i))] = new(big.Int).SetUint64(w)
	}
	return m
}

func TestSection28TheLeafOfTheProtocolVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/leaf.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Fields struct {
			Challenge string `json:"challenge_id"`
			Hotkey    Hotkey
			Epoch     uint64
			Reason    Reason `json:"no_score_reason"`
			Name      string `json:"no_score_name"`
		}
		Body   string `json:"body_scale"`
		Domain string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	l := Leaf{Hotkey: v.Fields.Hotkey, Epoch: v.Fields.Epoch, Reason: v.Fields.Reason}
	if got := hex.EncodeToString(l.Payload()); got != v.Body {
		t.Errorf("%s, want %s", got, v.Body)
	}
	if l.Reason.String() != v.Fields.Name || ChallengeID != v.Fields.Challenge || LeafDomain != v.Domain {
		t.Errorf("%s, %s, %s", l.Reason, ChallengeID, LeafDomain)
	}
}

func TestSection28AScoreIsEightBytesLittleEndian(t *testing.T) {
	l := Leaf{Hotkey: key(3), Epoch: 1, Scored: true, Score: 600_000}
	want := "1470726f6f66" + strings.Repeat("03", 32) + "0100000000000000" + "00" + "c027090000000000"
	if got := hex.EncodeToString(l.Payload()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSection13EveryExpectedHotkeyHasOneLeaf(t *testing.T) {
	rows := []Row{pass(1, 0xaa, 2.5, "a"), pass(2, 0xbb, 2.5, "a"), pass(3, 0xdd, 2.5, "b")}
	r := pay(t, 7, []Topic{discovery("t", family.Min, ptr(3.0))}, rows)
	leaves, unexpected := r.Leaves([]Hotkey{key(0xcc), key(0xaa), key(0xaa), key(0xbb)})
	want := []Leaf{{key(0xaa), 7, true, 450_000, 0}, {key(0xbb), 7, true, 100_000, 0}, {key(0xcc), 7, false, 0, NotAttempted}}
	if diff := cmp.Diff(want, leaves); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Hotkey{key(0xdd)}, unexpected); diff != "" {
		t.Error(diff)
	}
}

func TestSection13WithoutAnOpenTopicNobodyIsPaidAZero(t *testing.T) {
	leaves, unexpected := pay(t, 7, nil, []Row{pass(1, 0xaa, 2.5, "a")}).Leaves([]Hotkey{key(0xbb), key(0xaa)})
	want := []Leaf{{key(0xaa), 7, false, 0, ChallengeInternal}, {key(0xbb), 7, false, 0, ChallengeInternal}}
	if diff := cmp.Diff(want, leaves); diff != "" || unexpected != nil {
		t.Error(diff, unexpected)
	}
}

func TestParseLeafRefusesWhatIsNoLeafOfTheChallenge(t *testing.T) {
	good := Leaf{Hotkey: key(3), Epoch: 1, Scored: true, Score: 5}.Payload()
	none := Leaf{Hotkey: key(3), Epoch: 1, Reason: Timeout}.Payload()
	edit := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	for name, payload := range map[string][]byte{
		"nothing":                nil,
		"a score cut short":      good[:len(good)-1],
		"a byte too many":        append(bytes.Clone(good), 0),
		"no value":               none[:leafHead],
		"a reason cut short":     none[:leafHead+1],
		"another challenge":      edit(good, 1, 'q'),
		"another length":         edit(good, 0, 0x15),
		"an unknown reason":      edit(none, leafHead+1, 8),
		"an unknown kind":        edit(none, leafHead, 2),
		"a score beyond a whole": Leaf{Scored: true, Score: TotalMass + 1}.Payload(),
	} {
		if l, err := ParseLeaf(payload); err == nil {
			t.Errorf("%s is read as %+v", name, l)
		}
	}
}

func FuzzParseLeaf(f *testing.F) {
	f.Add(Leaf{Hotkey: key(3), Epoch: 123, Reason: ChallengeInternal}.Payload())
	f.Add(Leaf{Hotkey: key(3), Epoch: math.MaxUint64, Scored: true, Score: TotalMass}.Payload())
	f.Fuzz(func(t *testing.T, payload []byte) {
		l, err := ParseLeaf(payload)
		if err == nil && !bytes.Equal(l.Payload(), payload) {
			t.Fatalf("%x is read as %+v", payload, l)
		}
	})
}

func TestVectorsOfIsOpenAt(t *testing.T) {
	for _, c := range vectors(t, "is_open_at") {
		var in struct {
			From  uint64  `json:"valid_from"`
			Until *uint64 `json:"valid_until"`
			Epoch json.RawMessage
		}
		var want bool
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(string(c.Input), func(t *testing.T) {
			epoch := uint64(math.MaxUint64)
			if string(in.Epoch) != `"u64::MAX"` {
				if err := json.Unmarshal(in.Epoch, &epoch); err != nil {
					t.Fatal(err)
				}
			}
			if got := (Window{in.From, in.Until}).Contains(epoch); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestSection5_9BothEndsOfAWindowAreOpen(t *testing.T) {
	w := Window{From: 10, Until: ptr(uint64(20))}
	for epoch, want := range map[uint64]bool{9: false, 10: true, 20: true, 21: false} {
		if got := w.Contains(epoch); got != want {
			t.Errorf("epoch %d: %v", epoch, got)
		}
	}
}

func TestDecision3EpochsHaveEqualLengthsFromAGenesisOn(t *testing.T) {
	genesis := time.Date(2026, 9, 8, 12, 0, 0, 500, time.UTC)
	e, err := EpochsFrom(genesis, 3600)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  uint64
	}{{0, 0}, {time.Hour - 1, 0}, {time.Hour, 1}, {24 * time.Hour, 24}, {250 * 365 * 24 * time.Hour, 250 * 365 * 24}} {
		at := genesis.Add(c.after)
		if got, err := e.At(at); err != nil || got != c.want {
			t.Errorf("after %s: %d, %v, want %d", c.after, got, err, c.want)
		}
		from, until, ok := e.Bounds(c.want)
		if !ok || at.Before(from) || !at.Before(until) || until.Sub(from) != time.Hour {
			t.Errorf("epoch %d is from %s until %s, %v", c.want, from, until, ok)
		}
	}
	if _, err := e.At(genesis.Add(-1)); !errors.Is(err, ErrBeforeGenesis) {
		t.Errorf("%v", err)
	}
	if _, _, ok := e.Bounds(math.MaxUint64); ok {
		t.Error("the last epoch has bounds")
	}
	if _, err := EpochsFrom(genesis, 0); err == nil {
		t.Error("epochs without length")
	}
}

func TestDecision3AFixedEpochHasEveryInstant(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(1<<40, 0)} {
		if got, err := FixedEpoch(5).At(at); err != nil || got != 5 {
			t.Errorf("%s: %d, %v", at, got, err)
		}
	}
	if got, err := (Epochs{}).At(time.Unix(0, 0)); err != nil || got != 0 {
		t.Errorf("the zero value: %d, %v", got, err)
	}
	if _, _, ok := FixedEpoch(5).Bounds(5); ok {
		t.Error("a fixed epoch has bounds")
	}
}

func TestAHotkeyHasOneStoredForm(t *testing.T) {
	good := strings.Repeat("ab", 32)
	if h, err := ParseHotkey(good); err != nil || h.String() != good {
		t.Errorf("%s, %v", h, err)
	}
	for _, bad := range []string{"", good[2:], good + "ab", strings.ToUpper(good), "0x" + good[2:], " " + good[1:], strings.Repeat("zz", 32)} {
		if _, err := ParseHotkey(bad); err == nil {
			t.Errorf("%q is a hotkey", bad)
		}
	}
}

func TestSection13_7RemaindersBeyond64BitsAreComparedWhole(t *testing.T) {
	// Twice the weights leaves the remainders 2^64-2, 2^65-2 and 2^65-2 of a total
	// beyond 64 bits; their low words are equal.
	for i, s := range allocate(2, []uint64{1<<63 - 1, math.MaxUint64, math.MaxUint64}) {
		if want := uint64(min(i, 1)); s.units != want {
			t.Errorf("share %d is %d, want %d", i, s.units, want)
		}
	}
}
