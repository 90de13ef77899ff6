-- +goose Up

-- API keys: the fingerprint (SHA-256 of the key) is all that is kept of a key.
CREATE TABLE issuer_keys (
    fingerprint       TEXT PRIMARY KEY,
    counter_key       TEXT NOT NULL,
    plan              TEXT NOT NULL,
    active            INTEGER NOT NULL,
    created_at        TEXT NOT NULL,
    expires_at        TEXT NOT NULL,
    email             TEXT NOT NULL,
    ref_id            TEXT NOT NULL,
    verified_did      TEXT NOT NULL,
    verified_method   TEXT NOT NULL,
    bound_at          TEXT NOT NULL,
    declared_identity TEXT NOT NULL,
    identity_mismatch INTEGER NOT NULL
);
CREATE UNIQUE INDEX issuer_keys_free_email ON issuer_keys (email) WHERE plan = 'free' AND active = 1;

CREATE TABLE issuer_did_history (
    fingerprint TEXT NOT NULL REFERENCES issuer_keys (fingerprint),
    position    INTEGER NOT NULL,
    did         TEXT NOT NULL,
    bound_at    TEXT NOT NULL,
    method      TEXT NOT NULL,
    unbound_at  TEXT NOT NULL,
    PRIMARY KEY (fingerprint, position)
);

-- Every DID a key was ever bound to: what makes two DIDs one participant.
CREATE TABLE issuer_key_dids (
    fingerprint TEXT NOT NULL REFERENCES issuer_keys (fingerprint),
    did         TEXT {{bytes}} NOT NULL,
    PRIMARY KEY (fingerprint, did)
);
CREATE INDEX issuer_key_dids_did ON issuer_key_dids (did);

CREATE TABLE issuer_challenges (
    challenge_sha256 TEXT PRIMARY KEY,
    fingerprint      TEXT NOT NULL,
    did              TEXT NOT NULL,
    public_key       TEXT NOT NULL,
    expires_at       BIGINT NOT NULL
);

-- Counters by key and UTC day (2026-09-21) or month (2026-09).
CREATE TABLE issuer_usage (
    counter_key TEXT NOT NULL,
    period      TEXT NOT NULL,
    used        BIGINT NOT NULL,
    PRIMARY KEY (counter_key, period)
);

-- Proofs never change. seq is the queue order: there is one writer at a time, so
-- it rises in the order of the commits, and a batch is a range of it.
CREATE TABLE issuer_proofs (
    seq       {{id}},
    proof_id  TEXT NOT NULL UNIQUE,
    chain     TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    record    TEXT NOT NULL,
    private   TEXT NOT NULL
);

CREATE TABLE issuer_views (
    proof_id TEXT PRIMARY KEY,
    views    BIGINT NOT NULL
);

-- A batch is fixed when its row is written (state closing); its witnesses follow,
-- each durable by itself; anchored means that all of them were verified. Proofs
-- behind the last batch are the pending batch.
CREATE TABLE issuer_batches (
    last_seq        BIGINT PRIMARY KEY,
    first_seq       BIGINT NOT NULL UNIQUE,
    batch_id        TEXT NOT NULL UNIQUE,
    opened_at       TEXT NOT NULL,
    closed_at       TEXT NOT NULL,
    reason          TEXT NOT NULL,
    tree_size       BIGINT NOT NULL,
    root            TEXT NOT NULL,
    leaves          TEXT NOT NULL,
    state           TEXT NOT NULL,
    token_provider  TEXT NOT NULL,
    token           TEXT NOT NULL,
    token_time      TEXT NOT NULL,
    log_uuid        TEXT NOT NULL,
    log_entry       TEXT NOT NULL,
    log_index       BIGINT NOT NULL,
    integrated_time BIGINT NOT NULL,
    attempts        BIGINT NOT NULL,
    next_attempt    BIGINT NOT NULL,
    last_error      TEXT NOT NULL,
    anchored_at     TEXT NOT NULL
);
CREATE INDEX issuer_batches_closing ON issuer_batches (next_attempt) WHERE state = 'closing';

-- Whole answers kept for X-Idempotency-Key.
CREATE TABLE issuer_answers (
    name       TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL,
    status     INTEGER NOT NULL,
    proof_id   TEXT NOT NULL,
    verified   INTEGER NOT NULL,
    body       {{blob}} NOT NULL
);
CREATE INDEX issuer_answers_expiry ON issuer_answers (expires_at);
