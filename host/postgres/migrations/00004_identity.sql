-- +goose Up
-- Tells this database from every other one, also from one with the same key.
ALTER TABLE quoin.installation ADD COLUMN identity text NOT NULL DEFAULT gen_random_uuid();
