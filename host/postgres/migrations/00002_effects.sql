-- +goose Up
-- The effects of runs. Rows of one run are a chain, as those of quoin.journal; the
-- first is sealed in quoin.effects itself.
CREATE TABLE quoin.effects (
    run     text PRIMARY KEY,
    owner   text,
    epoch   bigint NOT NULL,
    created timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    header  bytea NOT NULL,
    seal    bytea NOT NULL
);
CREATE INDEX effects_expires ON quoin.effects (expires);

CREATE TABLE quoin.effect_log (
    run     text NOT NULL,
    n       bigint NOT NULL,
    header  bytea NOT NULL,
    seal    bytea NOT NULL,
    PRIMARY KEY (run, n)
);

-- Events of runs. They are no part of what a run needs to go on.
CREATE TABLE quoin.trajectory (
    n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host    text NOT NULL,
    run     text NOT NULL,
    at      timestamptz NOT NULL,
    event   jsonb NOT NULL
);
CREATE INDEX trajectory_run ON quoin.trajectory (run, n);
CREATE INDEX trajectory_at ON quoin.trajectory (at);
