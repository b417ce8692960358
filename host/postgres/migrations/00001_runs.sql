-- +goose Up
-- What all hosts have to agree on.
CREATE TABLE quoin.installation (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    key_id  text NOT NULL
);

-- Hosts that may own runs. A host whose lease is over owns none.
CREATE TABLE quoin.hosts (
    id          text PRIMARY KEY,
    address     text NOT NULL,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Suspended runs, and the results of runs that have ended. The columns before header
-- are for looking a run up; what counts is in header and image, which are sealed. A run
-- that is gone was deleted by its owner, who has not released it yet.
CREATE TABLE quoin.runs (
    id          text PRIMARY KEY,
    epoch       bigint NOT NULL,
    owner       text,
    ended       boolean NOT NULL,
    gone        boolean NOT NULL DEFAULT false,
    generation  bigint NOT NULL,
    expires     timestamptz NOT NULL,
    timer_due   timestamptz,
    woken       timestamptz,
    woken_epoch bigint NOT NULL DEFAULT 0,
    due         timestamptz GENERATED ALWAYS AS (LEAST(woken, timer_due)) STORED,
    header      bytea NOT NULL,
    image       bytea NOT NULL,
    image_sum   bytea NOT NULL,
    seal        bytea NOT NULL
) WITH (fillfactor = 80);

-- Images are compressed already.
ALTER TABLE quoin.runs ALTER COLUMN image SET STORAGE EXTERNAL;

CREATE INDEX runs_owned ON quoin.runs (owner) WHERE owner IS NOT NULL AND NOT ended;
CREATE INDEX runs_due ON quoin.runs (due) WHERE due IS NOT NULL AND NOT ended;
CREATE INDEX runs_suspended ON quoin.runs (expires) WHERE NOT ended;
CREATE INDEX runs_ended ON quoin.runs (expires) WHERE ended AND NOT gone;

-- What has become of the calls of the record of a run, in order.
CREATE TABLE quoin.journal (
    run     text NOT NULL,
    n       bigint NOT NULL,
    header  bytea NOT NULL,
    body    bytea NOT NULL,
    seal    bytea NOT NULL,
    PRIMARY KEY (run, n)
);

-- Ids of runs without a record that a host holds.
CREATE TABLE quoin.reserved (
    run   text PRIMARY KEY,
    owner text NOT NULL
);
