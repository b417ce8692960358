-- +goose Up
-- Small pieces of state that are written whole: approvals, programs, pins, sign-ins. What
-- counts is in content, which is sealed and bound to the name.
CREATE TABLE quoin.documents (
    purpose  text COLLATE "C" NOT NULL,
    name     text COLLATE "C" NOT NULL,
    ext      text COLLATE "C" NOT NULL,
    content  bytea NOT NULL,
    expires  timestamptz,
    attempt  text NOT NULL, -- which write it is of, so that a writer knows its own again
    written  xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (purpose, name)
);
CREATE INDEX documents_expires ON quoin.documents (purpose, ext, expires);
CREATE INDEX documents_written ON quoin.documents (purpose, ext, written);

-- Locks of documents. A holder that does not renew its lock loses it.
CREATE TABLE quoin.document_locks (
    purpose  text COLLATE "C" NOT NULL,
    name     text COLLATE "C" NOT NULL,
    holder   text NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (purpose, name)
);

-- The key-value storages of plugins. Entries are sealed; head is the number of the newest.
CREATE TABLE quoin.plugin_storages (
    plugin   text COLLATE "C" PRIMARY KEY,
    head     bigint NOT NULL,
    attempt  text NOT NULL
);
CREATE TABLE quoin.plugin_entries (
    plugin   text COLLATE "C" NOT NULL,
    n        bigint NOT NULL,
    entry    bytea NOT NULL,
    PRIMARY KEY (plugin, n)
);
