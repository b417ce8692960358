-- +goose Up
-- Where to, and which move it is, while the state is moved to another one.
ALTER TABLE quoin.installation ADD COLUMN moving text NOT NULL DEFAULT '';

-- Where something was imported from, when, and what became of each thing.
CREATE TABLE quoin.imports (
    origin   text PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    outcomes jsonb NOT NULL
);
