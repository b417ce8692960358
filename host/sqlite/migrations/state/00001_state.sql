-- +goose Up
-- Times are microseconds since 1970.
CREATE TABLE installation (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    key_id   TEXT NOT NULL,
    identity TEXT NOT NULL,
    moving   TEXT NOT NULL DEFAULT '' -- where to, and which move it is, while the state is moved
);

-- Suspended runs, and the results of runs that have ended. The columns are for looking a run
-- up; what counts is in records, which are sealed. A run that is gone was deleted by its owner,
-- who has not released it yet. An owner is a process: see the files in the folder processes.
CREATE TABLE runs (
    n           INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    epoch       INTEGER NOT NULL,
    owner       TEXT,
    ended       INTEGER NOT NULL DEFAULT 0,
    gone        INTEGER NOT NULL DEFAULT 0,
    generation  INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    timer_due   INTEGER,
    woken       INTEGER,
    woken_epoch INTEGER NOT NULL DEFAULT 0,
    hint        INTEGER, -- of changes, when it was woken last
    due         INTEGER GENERATED ALWAYS AS (coalesce(min(woken, timer_due), woken, timer_due)) VIRTUAL
);
CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_due ON runs (due) WHERE due IS NOT NULL AND NOT ended;
CREATE INDEX runs_expires ON runs (ended, expires);
CREATE INDEX runs_hint ON runs (hint) WHERE hint IS NOT NULL;

-- The image is last: what reads the other columns does not read its pages.
CREATE TABLE records (
    n         INTEGER PRIMARY KEY,
    header    BLOB NOT NULL,
    image_sum BLOB NOT NULL,
    seal      BLOB NOT NULL,
    image     BLOB NOT NULL
);

-- What has become of the calls of the record of a run, in order.
CREATE TABLE journal (
    run    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    header BLOB NOT NULL,
    seal   BLOB NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (run, n)
);

-- Ids of runs without a record that a process holds.
CREATE TABLE reserved (
    run   TEXT PRIMARY KEY,
    owner TEXT NOT NULL
) WITHOUT ROWID;

-- The effects of runs. Rows of one run are a chain; the first is sealed in effects itself.
CREATE TABLE effects (
    n       INTEGER PRIMARY KEY,
    run     TEXT NOT NULL UNIQUE,
    owner   TEXT,
    epoch   INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    header  BLOB NOT NULL,
    seal    BLOB NOT NULL
);
CREATE INDEX effects_created ON effects (created, run);
CREATE INDEX effects_expires ON effects (expires);
CREATE INDEX effects_owned ON effects (owner) WHERE owner IS NOT NULL;

CREATE TABLE effect_log (
    run    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    header BLOB NOT NULL,
    seal   BLOB NOT NULL,
    PRIMARY KEY (run, n)
) WITHOUT ROWID;

-- Small pieces of state that are written whole: approvals, programs, pins, sign-ins. What
-- counts is in content, which is sealed and bound to the name.
CREATE TABLE documents (
    n       INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    name    TEXT NOT NULL,
    ext     TEXT NOT NULL,
    expires INTEGER,
    written INTEGER NOT NULL, -- of changes
    content BLOB NOT NULL,
    UNIQUE (purpose, name)
);
CREATE INDEX documents_kind ON documents (purpose, ext, expires);

-- How often documents of a kind, or the marks of runs that are woken, have changed.
CREATE TABLE changes (
    purpose TEXT NOT NULL,
    ext     TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (purpose, ext)
) WITHOUT ROWID;

-- The key-value storages of plugins. Entries are sealed; head is the number of the newest.
CREATE TABLE plugin_storages (
    plugin TEXT PRIMARY KEY,
    head   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE plugin_entries (
    plugin TEXT NOT NULL,
    n      INTEGER NOT NULL,
    entry  BLOB NOT NULL,
    PRIMARY KEY (plugin, n)
);

-- Where something was imported from, when, and what became of each thing, as JSON.
CREATE TABLE imports (
    origin   TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    outcomes BLOB NOT NULL
) WITHOUT ROWID;
