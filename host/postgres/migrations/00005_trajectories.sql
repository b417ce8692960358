-- +goose Up
-- The trajectories of runs: what a list and a sweep look at. What counts is in the events.
CREATE TABLE quoin.trajectories (
    run     text COLLATE "C" PRIMARY KEY,
    session bytea NOT NULL, -- an HMAC of it
    bytes   bigint NOT NULL,
    last    timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX trajectories_session ON quoin.trajectories (session, last);

-- Events of one run that one writer has appended at once: lines of JSON, sealed. at is
-- when the first of them happened, by the clock of the database.
CREATE TABLE quoin.trajectory_events (
    run     text COLLATE "C" NOT NULL REFERENCES quoin.trajectories ON DELETE CASCADE,
    writer  text COLLATE "C" NOT NULL,
    n       bigint NOT NULL,
    at      timestamptz NOT NULL,
    events  integer NOT NULL,
    lines   bytea NOT NULL,
    PRIMARY KEY (run, writer, n)
);
