-- +goose Up
-- Times are microseconds since 1970.
CREATE TABLE runs (
    n       INTEGER PRIMARY KEY,
    run     TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL, -- as JSON, without its turn
    bytes   INTEGER NOT NULL DEFAULT 0,
    last    INTEGER NOT NULL
);
CREATE INDEX runs_session ON runs (session, last);
CREATE INDEX runs_last ON runs (last);

-- What happened in a run, in order: a line of JSON each.
CREATE TABLE events (
    n    INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE INDEX events_run ON events (run);

-- Where something was imported from, when, and what became of each thing, as JSON.
CREATE TABLE imports (
    origin   TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    outcomes BLOB NOT NULL
) WITHOUT ROWID;
