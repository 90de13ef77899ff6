package receipt

import (
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
	"github.com/prova-dev/prova/evidence/tlog"
)

// batch finds what the outside witnesses attest: the batch root, or the chain
// hash itself of a proof without a batch.
func (v *verification) batch() Witness {
	value, _ := v.p.doc.Get("batch_anchor")
	if value == nil {
		v.root, v.rootOK = v.chain, v.chainOK
		return notChecked("not batched: the witnesses attest the chain hash itself").noted(NoteBatchNone)
	}
	if Pending(v.p) {
		return waiting()
	}
	b, err := readBatch(value)
	if err != nil {
		return fail("%v", err)
	}
	if !v.chainOK {
		return notChecked(chainMalformed).noted(NoteChainMalformed)
	}
	switch err := b.include(v.chain); {
	case errors.Is(err, merkle.ErrPathLength):
		return fail("%v", err).noted(NoteBatchPathLength)
	case errors.Is(err, merkle.ErrPathMismatch):
		return fail("%v", err).noted(NoteBatchPathMismatch)
	case err != nil:
		return fail("%v", err)
	}
	v.root, v.rootOK = b.root, true
	root := hex.EncodeToString(b.root[:])
	return ok("leaf %d of %d under root %s", b.index, b.size, root).
		noted(NoteBatchLeaf, strconv.FormatUint(b.index, 10), strconv.FormatUint(b.size, 10), root)
}

func waiting() Witness {
	return Witness{Status: Waiting, Detail: "the batch is not closed yet"}.noted(NoteBatchWaiting)
}

// unattested is the witness of an outside check that has nothing to check.
func (v *verification) unattested(batch Witness) Witness {
	switch batch.Status {
	case Waiting:
		return waiting()
	case Fail:
		return notChecked("the batch anchor did not verify").noted(NoteBatchFailed)
	}
	return notChecked(chainMalformed).noted(NoteChainMalformed)
}

func (v *verification) timestamp(batch Witness) Witness {
	if !v.rootOK {
		return v.unattested(batch)
	}
	value, _ := member(v.p.doc, "timestamp_authority", "tsr_base64")
	if value == nil {
		return v.without("the proof has no token", "timestamp_authority", NoteTokenMissing, NoteTokenReported)
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
		return failed(r.err)
	}
	v.tokenTime = r.token.Time.UTC()
	w := ok("token of %s", show(provider)).noted(NoteToken, provider)
	w.Independent, w.Time = r.independent, v.tokenTime
	return w
}

// without is an outside witness that the proof lacks; it repeats what the issuer
// says of it.
func (v *verification) without(what, member, missing, reported string) Witness {
	if status, _ := text(v.p.doc, member, "status"); status != "" {
		return notChecked("%s, the issuer reports %s", what, show(status)).noted(reported, status)
	}
	return notChecked("%s", what).noted(missing)
}

func (v *verification) log(batch Witness) Witness {
	if !v.rootOK {
		return v.unattested(batch)
	}
	uuid, wellFormed := v.p.LogUUID()
	switch {
	case !v.p.namesEntry() || uuid == "_already_exists": // T§15.10: the issuer lost the id
		return v.without("the proof names no log entry", "transparency_log", NoteEntryUnnamed, NoteEntryReported)
	case !wellFormed:
		return fail("transparency_log.uuid is not 64 or 80 lower-case hex digits").noted(NoteEntryMalformed)
	case v.o.Entry == nil:
		return notChecked("offline: entry %s was not supplied", uuid).noted(NoteEntryNotSupplied, uuid)
	}
	document, err := v.o.Entry(uuid)
	switch {
	case errors.Is(err, tlog.ErrNotFound):
		return fail("the log has no entry %s", uuid).noted(NoteEntryDenied, uuid)
	case err != nil:
		return notChecked("entry %s could not be had: %v", uuid, err).noted(NoteEntryUnavailable, uuid)
	}
	r := v.c.entry(uuid, document, v.root)
	if r.err != nil {
		return failed(r.err)
	}
	// D11's second rule needs a third party's time: the token's, else the log's.
	witnessed := v.tokenTime
	if witnessed.IsZero() {
		witnessed = r.entry.IntegratedTime
	}
	if err := v.c.attribute(v.p, r, witnessed); err != nil {
		return failed(err)
	}
	v.logTime, v.logAttributed = r.entry.IntegratedTime.UTC(), len(v.c.logKeys) > 0
	v.compareEntry(r.entry)
	index := strconv.FormatInt(r.entry.Index, 10)
	w := ok("entry %s", index)
	if r.entry.Log != nil {
		w = ok("entry %s of %s", index, show(r.entry.Log.Name)).noted(NoteEntry, index, r.entry.Log.Name)
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
		return notChecked(chainMalformed).noted(NoteChainMalformed)
	}
	if s, _ := v.p.doc.Get("arkforge_signature"); s == nil {
		return notChecked("the proof has no signature").noted(NoteSignatureMissing)
	}
	key, err := v.c.issuerKey(v.p)
	if err != nil {
		return failed(err)
	}
	if err := verifySignature(v.p, key, v.chain); err != nil {
		return failed(err)
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
			return ok("issuer's key %s, retired since; no verified time shows yet that it signed before%s", key.kid, key.bounds).
				noted(NoteIssuerKeyRetired, key.kid)
		case !key.bounds.inTime(witnessed):
			return fail("the proof was witnessed at %s, too long after the retirement of the key %s%s",
				witnessed.Format(time.RFC3339), key.kid, key.bounds).noted(NoteIssuerKeyTooLate, key.kid)
		}
	}
	return ok("issuer's key %s", key.kid).noted(NoteIssuerKey, key.kid)
}
