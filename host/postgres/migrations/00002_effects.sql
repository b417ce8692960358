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
