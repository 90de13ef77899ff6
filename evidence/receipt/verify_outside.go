package receipt

import (
	"encoding/hex"
	"errors"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/tlog"
)

// batch finds what the outside witnesses attest: the batch root, or the chain
// hash itself of a proof without a batch.
func (v *verification) batch() Witness {
	value, _ := v.p.doc.Get("batch_anchor")
	if value == nil {
		v.root, v.rootOK = v.chain, v.chainOK
		return notChecked("not batched: the witnesses attest the chain hash itself")
	}
	if Pending(v.p) {
		return Witness{Status: Waiting, Detail: "the batch is not closed yet"}
	}
	b, err := readBatch(value)
	if err != nil {
		return fail("%v", err)
	}
	if !v.chainOK {
		return notChecked(chainMalformed)
	}
	if err := b.include(v.chain); err != nil {
		return fail("%v", err)
	}
	v.root, v.rootOK = b.root, true
	return ok("leaf %d of %d under root %s", b.index, b.size, hex.EncodeToString(b.root[:]))
}

// unattested is the witness of an outside check that has nothing to check.
func (v *verification) unattested(batch Witness) Witness {
	switch batch.Status {
	case Waiting:
		return Witness{Status: Waiting, Detail: "the batch is not closed yet"}
	case Fail:
		return notChecked("the batch anchor did not verify")
	}
	return notChecked(chainMalformed)
}

func (v *verification) timestamp(batch Witness) Witness {
	if !v.rootOK {
		return v.unattested(batch)
	}
	value, _ := member(v.p.doc, "timestamp_authority", "tsr_base64")
	if value == nil {
		return notChecked("the proof has no token%s", v.reported("timestamp_authority"))
	}
	response, isText := value.(string)
	provider, named := text(v.p.doc, "timestamp_authority", "provider")
	switch {
	case !isText:
		return fail("timestamp_authority.tsr_base64 is %s, want a string", canonjson.Kind(value))
	case !named:
		return fail("timestamp_authority.provider is missing or no string")
	}
	r := v.c.token(provider, response, v.root)
	if r.err != nil {
		return fail("%v", r.err)
	}
	v.tokenTime = r.token.Time.UTC()
	w := ok("token of %s", show(provider))
	w.Independent, w.Time = r.independent, v.tokenTime
	return w
}

// reported repeats what the issuer says of a witness that it did not get.
func (v *verification) reported(name string) string {
	if status, _ := text(v.p.doc, name, "status"); status != "" {
		return ", the issuer reports " + show(status)
	}
	return ""
}

func (v *verification) log(batch Witness) Witness {
	if !v.rootOK {
		return v.unattested(batch)
	}
	uuid, wellFormed := v.p.LogUUID()
	switch {
	case !v.p.namesEntry() || uuid == "_already_exists": // T§15.10: the issuer lost the id
		return notChecked("the proof names no log entry%s", v.reported("transparency_log"))
	case !wellFormed:
		return fail("transparency_log.uuid is not 64 or 80 lower-case hex digits")
	case v.o.Entry == nil:
		return notChecked("offline: entry %s was not supplied", uuid)
	}
	document, err := v.o.Entry(uuid)
	switch {
	case errors.Is(err, tlog.ErrNotFound):
		return fail("the log has no entry %s", uuid)
	case err != nil:
		return notChecked("entry %s could not be had: %v", uuid, err)
	}
	r := v.c.entry(uuid, document, v.root)
	if r.err != nil {
		return fail("%v", r.err)
	}
	// D11's second rule needs a third party's time: the token's, else the log's.
	witnessed := v.tokenTime
	if witnessed.IsZero() {
		witnessed = r.entry.IntegratedTime
	}
	if err := v.c.attribute(v.p, r, witnessed); err != nil {
		return fail("%v", err)
	}
	v.logTime, v.logAttributed = r.entry.IntegratedTime.UTC(), len(v.c.logKeys) > 0
	v.compareEntry(r.entry)
	w := ok("entry %d", r.entry.Index)
	if r.entry.Log != nil {
		w.Detail += " of " + show(r.entry.Log.Name)
		w.Independent = r.entry.Log.Independent
	}
	w.Time = v.logTime
	return w
}

// compareEntry notes what the proof says of its entry and the log does not.
func (v *verification) compareEntry(e *tlog.Entry) {
	for _, said := range []struct {
		name string
		want int64
	}{{"log_index", e.Index}, {"integrated_time", e.IntegratedTime.Unix()}} {
		value, _ := member(v.p.doc, "transparency_log", said.name)
		if value != nil && value != any(canonjson.NewInt(said.want)) {
			v.diverging = append(v.diverging, "transparency_log."+said.name)
		}
	}
}

// signature comes last: whether a retired key may count depends on a time that
// another witness proves (D11).
func (v *verification) signature() Witness {
	if !v.chainOK {
		return notChecked(chainMalformed)
	}
	if s, _ := v.p.doc.Get("arkforge_signature"); s == nil {
		return notChecked("the proof has no signature")
	}
	key, err := v.c.issuerKey(v.p)
	if err != nil {
		return fail("%v", err)
	}
	if err := verifySignature(v.p, key, v.chain); err != nil {
		return fail("%v", err)
	}
	if key.bounds.retired != "" {
		witnessed := v.tokenTime
		if witnessed.IsZero() {
			witnessed = v.logTime
		}
		switch {
		case witnessed.IsZero():
			// No verdict rests on this alone: one that is valid has a witness,
			// and with it a time.
			return ok("issuer's key %s, retired since; no verified time shows yet that it signed before%s", key.kid, key.bounds)
		case !key.bounds.inTime(witnessed):
			return fail("the proof was witnessed at %s, too long after the retirement of the key %s%s",
				witnessed.Format(time.RFC3339), key.kid, key.bounds)
		}
	}
	return ok("issuer's key %s", key.kid)
}
