-- +goose Up

-- Append-only: what was published, decided and paid. The database refuses UPDATE
-- and DELETE on these tables (store.DB.AppendOnly); "current" is always the newest.

CREATE TABLE proof_topic_version (
    topic_id   TEXT {{bytes}} NOT NULL CHECK (length(topic_id) BETWEEN 2 AND 63 AND ltrim(topic_id, 'abcdefghijklmnopqrstuvwxyz0123456789-') = '' AND substr(topic_id, 1, 1) <> '-'),
    version    BIGINT NOT NULL CHECK (version >= 1),
    status     TEXT NOT NULL CHECK (status IN ('draft', 'open', 'closed')),
    document   {{blob}} NOT NULL,
    signature  TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (topic_id, version)
);

CREATE TABLE proof_rule_version (
    topic_id   TEXT {{bytes}} NOT NULL,
    version    BIGINT NOT NULL CHECK (version >= 1),
    source     TEXT NOT NULL CHECK (source IN ('topic_document', 'rlm', 'operator')),
    rules      TEXT NOT NULL,
    digest     TEXT NOT NULL CHECK (length(digest) = 64 AND ltrim(digest, '0123456789abcdef') = ''),
    created_at TEXT NOT NULL,
    PRIMARY KEY (topic_id, version)
);

-- An artefact that is inspected again gets its own attempt, without UPDATE.
CREATE TABLE proof_checklist (
    submission_digest TEXT NOT NULL CHECK (length(submission_digest) = 64 AND ltrim(submission_digest, '0123456789abcdef') = ''),
    rules_version     BIGINT NOT NULL CHECK (rules_version >= 1),
    attempt           BIGINT NOT NULL CHECK (attempt >= 1),
    topic_id          TEXT {{bytes}} NOT NULL,
    green             BIGINT NOT NULL CHECK (green IN (0, 1)),
    failed_ids        TEXT NOT NULL,
    document          {{blob}} NOT NULL,
    created_at        TEXT NOT NULL,
    PRIMARY KEY (submission_digest, rules_version, attempt)
);
CREATE INDEX proof_checklist_topic ON proof_checklist (topic_id, created_at);

CREATE TABLE proof_lifecycle_event (
    id         {{id}},
    topic_id   TEXT {{bytes}} NOT NULL,
    from_state TEXT NOT NULL CHECK (from_state IN ('draft', 'owner_presend', 'awaiting_owner_keys', 'provisioning', 'baselining', 'open', 'evaluating', 'promoting', 'closed')),
    event      TEXT NOT NULL CHECK (event <> ''),
    to_state   TEXT NOT NULL CHECK (to_state IN ('draft', 'owner_presend', 'awaiting_owner_keys', 'provisioning', 'baselining', 'open', 'evaluating', 'promoting', 'closed')),
    note       TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL
);
CREATE INDEX proof_lifecycle_event_topic ON proof_lifecycle_event (topic_id, id);

-- A baseline may be measured again under the same rules; the newest one counts.
CREATE TABLE proof_baseline_measurement (
    id            {{id}},
    topic_id      TEXT {{bytes}} NOT NULL,
    rules_version BIGINT NOT NULL CHECK (rules_version >= 1),
    primary_value DOUBLE PRECISION NOT NULL,
    report        {{blob}} NOT NULL,
    created_at    TEXT NOT NULL
);
CREATE INDEX proof_baseline_measurement_topic ON proof_baseline_measurement (topic_id, id);

-- Numbers of rows: reserved before anything is written under one, never twice.
CREATE TABLE proof_row_id (
    id          BIGINT NOT NULL PRIMARY KEY CHECK (id >= 0),
    reserved_at TEXT NOT NULL
);

-- A persisted submission: its row as it was stored, byte for byte, and what
-- epochs, payouts and lists ask about it.
CREATE TABLE proof_submission (
    id                BIGINT NOT NULL PRIMARY KEY REFERENCES proof_row_id (id),
    topic_id          TEXT {{bytes}} NOT NULL,
    miner_hotkey      TEXT NOT NULL CHECK (length(miner_hotkey) = 64 AND ltrim(miner_hotkey, '0123456789abcdef') = ''),
    submission_digest TEXT NOT NULL CHECK (length(submission_digest) = 64 AND ltrim(submission_digest, '0123456789abcdef') = ''),
    artifact_digest   TEXT NOT NULL CHECK (length(artifact_digest) = 64 AND ltrim(artifact_digest, '0123456789abcdef') = ''),
    tree_digest       TEXT NOT NULL CHECK (length(tree_digest) IN (0, 64) AND ltrim(tree_digest, '0123456789abcdef') = ''),
    epoch             BIGINT NOT NULL CHECK (epoch >= 0),
    state             TEXT NOT NULL CHECK (state IN ('champion', 'awaiting_admin', 'rejected')),
    pass              BIGINT NOT NULL CHECK (pass IN (0, 1)),
    primary_value     DOUBLE PRECISION,
    document          {{blob}} NOT NULL,
    created_at        TEXT NOT NULL,
    CHECK ((state = 'rejected') = (pass = 0))
);
CREATE INDEX proof_submission_topic ON proof_submission (topic_id, id);
CREATE INDEX proof_submission_miner ON proof_submission (miner_hotkey, id);
CREATE INDEX proof_submission_digest ON proof_submission (submission_digest, id);

CREATE TABLE proof_artefact (
    topic_id          TEXT {{bytes}} NOT NULL,
    submission_id     TEXT NOT NULL CHECK (length(submission_id) = 19 AND substr(submission_id, 1, 3) = 'pf_' AND ltrim(substr(submission_id, 4), '0123456789abcdef') = ''),
    submission_digest TEXT NOT NULL CHECK (length(submission_digest) = 64 AND ltrim(submission_digest, '0123456789abcdef') = ''),
    path              TEXT NOT NULL CHECK (path <> ''),
    sha256            TEXT NOT NULL CHECK (length(sha256) = 64 AND ltrim(sha256, '0123456789abcdef') = ''),
    bytes             BIGINT NOT NULL CHECK (bytes >= 0),
    primary_value     DOUBLE PRECISION,
    checklist_green   BIGINT NOT NULL CHECK (checklist_green IN (0, 1)),
    promoted          BIGINT NOT NULL CHECK (promoted IN (0, 1)),
    created_at        TEXT NOT NULL,
    PRIMARY KEY (topic_id, submission_id)
);

CREATE TABLE proof_promotion_event (
    id                {{id}},
    topic_id          TEXT {{bytes}} NOT NULL,
    submission_id     TEXT NOT NULL CHECK (length(submission_id) = 19 AND substr(submission_id, 1, 3) = 'pf_' AND ltrim(substr(submission_id, 4), '0123456789abcdef') = ''),
    submission_digest TEXT NOT NULL CHECK (length(submission_digest) = 64 AND ltrim(submission_digest, '0123456789abcdef') = ''),
    primary_value     DOUBLE PRECISION NOT NULL,
    bar               DOUBLE PRECISION,
    previous_best     TEXT,
    epoch             BIGINT NOT NULL CHECK (epoch >= 0),
    created_at        TEXT NOT NULL
);
CREATE INDEX proof_promotion_event_topic ON proof_promotion_event (topic_id, id);

CREATE TABLE proof_offer (
    id         {{id}},
    kind       TEXT NOT NULL CHECK (kind IN ('inference', 'executor')),
    document   {{blob}} NOT NULL,
    source     TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX proof_offer_kind ON proof_offer (kind, id);

CREATE TABLE proof_epoch_close (
    epoch     BIGINT NOT NULL PRIMARY KEY CHECK (epoch >= 0),
    sha256    TEXT NOT NULL CHECK (length(sha256) = 64 AND ltrim(sha256, '0123456789abcdef') = ''),
    bytes     BIGINT NOT NULL CHECK (bytes >= 0),
    parts     BIGINT NOT NULL CHECK (parts >= 0),
    closed_at TEXT NOT NULL
);

CREATE TABLE proof_epoch_snapshot (
    epoch BIGINT NOT NULL REFERENCES proof_epoch_close (epoch),
    part  BIGINT NOT NULL CHECK (part >= 0),
    data  {{blob}} NOT NULL,
    PRIMARY KEY (epoch, part)
);

CREATE TABLE proof_admin_audit (
    id          {{id}},
    at          TEXT NOT NULL,
    token_label TEXT NOT NULL,
    action      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    status      BIGINT NOT NULL
);

-- Mutable: what is in flight.

-- A flight is an accepted submission until its row or its refusal. One per
-- submission digest; a refused one stays until the next attempt or a purge.
CREATE TABLE proof_flight (
    id                {{id}},
    submission_digest TEXT NOT NULL UNIQUE,
    topic_id          TEXT {{bytes}} NOT NULL,
    topic_version     BIGINT NOT NULL,
    miner_hotkey      TEXT NOT NULL,
    artifact_digest   TEXT NOT NULL,
    nonce             TEXT NOT NULL,
    epoch             BIGINT NOT NULL CHECK (epoch >= 0),
    content_type      TEXT NOT NULL,
    body              {{blob}} NOT NULL,
    serial            BIGINT NOT NULL CHECK (serial IN (0, 1)),
    state             TEXT NOT NULL CHECK (state IN ('queued', 'running', 'refused')),
    phase             TEXT NOT NULL,
    holder            TEXT NOT NULL,
    accepted_at       TEXT NOT NULL,
    started_at        TEXT,
    phase_at          TEXT,
    beat_at           TEXT {{bytes}},
    ended_at          TEXT {{bytes}},
    status            BIGINT NOT NULL,
    text              TEXT NOT NULL
);
CREATE INDEX proof_flight_state ON proof_flight (state, id);
CREATE INDEX proof_flight_topic ON proof_flight (topic_id, state);
CREATE INDEX proof_flight_miner ON proof_flight (miner_hotkey, state);

-- A hotkey's nonce is reserved while its submission is in flight and burned with
-- its row; a refusal removes the reservation. burned ones stay for ever.
CREATE TABLE proof_nonce (
    miner_hotkey TEXT NOT NULL,
    nonce        TEXT NOT NULL,
    body         TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('reserved', 'burned')),
    flight       BIGINT,
    row_id       BIGINT,
    PRIMARY KEY (miner_hotkey, nonce),
    CHECK ((state = 'burned') = (row_id IS NOT NULL))
);
CREATE INDEX proof_nonce_flight ON proof_nonce (flight);

-- The fence of a lease only grows; holder is empty when nobody has it.
CREATE TABLE proof_lease (
    topic_id   TEXT {{bytes}} NOT NULL PRIMARY KEY,
    fence      BIGINT NOT NULL,
    holder     TEXT NOT NULL,
    expires_at TEXT {{bytes}} NOT NULL
);
