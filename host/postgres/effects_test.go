package postgres_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// journalOf opens the journal of the effects of a run.
func journalOf(t *testing.T, d *postgres.DB, run string) runstore.EffectJournal {
	t.Helper()
	j, err := d.OpenEffects(t.Context(), run, &runstore.Effects{Created: time.Now(), Expires: time.Now().Add(time.Hour)})
	must(t, err)
	t.Cleanup(j.Close)
	must(t, j.Put(false, runstore.Effect{Number: 1, CallID: "c1", State: runstore.EffectDone, Inverse: "undo", Input: json.RawMessage(`{}`)}))
	return j
}

// TestPostgresAlteredEffects: each part of a journal has its seal.
func TestPostgresAlteredEffects(t *testing.T) {
	t.Parallel()
	d := open(t, database(t), slow)
	for run, sql := range map[string]string{
		"none":   `SELECT $1`,
		"effect": `UPDATE quoin.effect_log SET header = '{"number":1,"state":"none"}' WHERE run = $1`,
		"owner":  `UPDATE quoin.effects SET header = '{"runId":"owner","session":{"sessionId":"mine"}}' WHERE run = $1`,
		"seal":   `UPDATE quoin.effects SET seal = 'x' WHERE run = $1`,
	} {
		journalOf(t, d, run)
		must(t, d.Exec(t.Context(), sql, run))
		if _, err := d.Effects(t.Context(), run); errors.Is(err, runstore.ErrCorrupt) != (run != "none") {
			t.Errorf("the %s altered: %v", run, err)
		}
	}
}

// TestPostgresEffectsWaitForTheDisk where they are to, and there alone.
func TestPostgresEffectsWaitForTheDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	j := journalOf(t, d, "run")
	for _, sql := range []string{
		`CREATE TABLE quoin.seen (n serial, waits text)`,
		`CREATE FUNCTION quoin.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO quoin.seen (waits) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
		`CREATE TRIGGER see AFTER INSERT ON quoin.effect_log FOR EACH STATEMENT EXECUTE FUNCTION quoin.see()`,
	} {
		must(t, d.Exec(ctx, sql))
	}
	for i, sync := range []bool{true, false} {
		must(t, j.Put(sync, runstore.Effect{Number: i + 2, CallID: "c", State: runstore.EffectFinal}))
	}
	var seen string
	must(t, d.QueryRow(ctx, `SELECT string_agg(waits, ', ' ORDER BY n) FROM quoin.seen`).Scan(&seen))
	if seen != "on, off" {
		t.Errorf("synchronous_commit was %s, want on, off", seen)
	}
}
