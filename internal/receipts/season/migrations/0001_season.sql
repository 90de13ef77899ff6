-- +goose Up
CREATE TABLE seasons (
    season         BIGINT PRIMARY KEY,
    state          TEXT   NOT NULL,
    opens          TEXT   NOT NULL,
    closes         TEXT   NOT NULL,
    closed_at      TEXT,
    host           TEXT   NOT NULL,
    require_log    BIGINT NOT NULL,
    allow_local    BIGINT NOT NULL,
    practice       BIGINT NOT NULL,
    tracks         TEXT   NOT NULL
);

-- One row for each freeze ever made. status: pending (stored, not yet proven),
-- current, replaced, abandoned (replaced before it was proven).
CREATE TABLE freezes (
    id              {{id}},
    season          BIGINT NOT NULL REFERENCES seasons (season),
    track           TEXT   NOT NULL,
    status          TEXT   NOT NULL,
    reason          TEXT   NOT NULL,
    corpus_host     TEXT   NOT NULL,
    rules_text      {{blob}} NOT NULL,
    rules           {{blob}} NOT NULL,
    tasks           {{blob}} NOT NULL,
    catalogue       {{blob}} NOT NULL,
    rules_version   TEXT   NOT NULL,
    rules_sha256    TEXT   NOT NULL,
    manifest_sha256 TEXT   NOT NULL,
    key_commitment  TEXT   NOT NULL,
    stored_at       TEXT   NOT NULL,
    called_at       TEXT,
    proof_id        TEXT   UNIQUE,
    disclosures     {{blob}}
);
CREATE UNIQUE INDEX freezes_one_current ON freezes (season, track) WHERE status = 'current';
CREATE UNIQUE INDEX freezes_one_pending ON freezes (season, track) WHERE status = 'pending';

CREATE TABLE enrolments (
    season         BIGINT NOT NULL REFERENCES seasons (season),
    agent_did      TEXT {{bytes}} NOT NULL,
    key_sha256     TEXT   NOT NULL,
    token_sha256   TEXT   NOT NULL UNIQUE,
    agent_name     TEXT   NOT NULL,
    name_key       TEXT   NOT NULL,
    declared_stack TEXT,
    enrolled_at    TEXT   NOT NULL,
    kind           TEXT   NOT NULL,
    run            TEXT,
    linked_dids    TEXT   NOT NULL,
    PRIMARY KEY (season, agent_did),
    UNIQUE (season, key_sha256),
    UNIQUE (season, name_key)
);

CREATE TABLE submissions (
    season      BIGINT NOT NULL,
    agent_did   TEXT {{bytes}} NOT NULL,
    task_id     TEXT {{bytes}} NOT NULL,
    track       TEXT   NOT NULL,
    body        {{blob}} NOT NULL,
    sha256      TEXT   NOT NULL,
    recorded_at TEXT   NOT NULL,
    revision    BIGINT NOT NULL,
    PRIMARY KEY (season, agent_did, task_id),
    FOREIGN KEY (season, agent_did) REFERENCES enrolments (season, agent_did)
);

CREATE TABLE publications (
    season       BIGINT NOT NULL REFERENCES seasons (season),
    version      BIGINT NOT NULL,
    published_at TEXT   NOT NULL,
    files        TEXT   NOT NULL,
    PRIMARY KEY (season, version)
);
