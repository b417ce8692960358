package postgres_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestPostgresAlteredRows: who can write to the database can put an old state of a run
// back, and no other.
func TestPostgresAlteredRows(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, slow)
	for name, tc := range map[string]struct {
		sql  string
		want error
	}{
		"header":               {`UPDATE quoin.runs SET header = set_byte(header, 40, get_byte(header, 40) # 1)`, runstore.ErrCorrupt},
		"image":                {`UPDATE quoin.runs SET image = set_byte(image, 1, 7)`, runstore.ErrCorrupt},
		"image and its sum":    {`UPDATE quoin.runs SET image = '\x01', image_sum = sha256('\x01')`, runstore.ErrCorrupt},
		"seal":                 {`UPDATE quoin.runs SET seal = set_byte(seal, 1, get_byte(seal, 1) # 1)`, runstore.ErrCorrupt},
		"no seal":              {`UPDATE quoin.runs SET seal = ''`, runstore.ErrCorrupt},
		"another run":          {`UPDATE quoin.runs a SET header = b.header, image = b.image, image_sum = b.image_sum, seal = b.seal FROM quoin.runs b WHERE a.id = 'run' AND b.id = 'other'`, runstore.ErrCorrupt},
		"a result":             {`UPDATE quoin.runs SET ended = true`, runstore.ErrEnded},
		"an answer":            {`UPDATE quoin.journal SET body = '"forged"' WHERE n = 1`, runstore.ErrCorrupt},
		"a row less":           {`DELETE FROM quoin.journal WHERE n = 1`, runstore.ErrCorrupt},
		"rows in other order":  {`UPDATE quoin.journal SET n = -n`, runstore.ErrCorrupt},
		"a row twice":          {`INSERT INTO quoin.journal SELECT run, 3, header, body, seal FROM quoin.journal WHERE n = 2`, runstore.ErrCorrupt},
		"a row of another run": {`UPDATE quoin.journal a SET header = b.header, body = b.body, seal = b.seal FROM quoin.journal b WHERE a.run = 'run' AND b.run = 'other' AND a.n = b.n`, runstore.ErrCorrupt},
		"the newest row less":  {`DELETE FROM quoin.journal WHERE n = 2`, nil},
		"columns to look up":   {`UPDATE quoin.runs SET generation = 7, timer_due = now()`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"run", "other"} {
				c := create(t, d, record(id))
				defer func() {
					if err := errors.Join(d.Exec(ctx, `DELETE FROM quoin.runs`), d.Exec(ctx, `DELETE FROM quoin.journal`)); err != nil {
						t.Error(err)
					}
					c.Release()
				}()
				for _, call := range []uint64{1, 2} {
					if err := c.PutCalls(ctx, 1, settled(call, `"of `+id+`"`)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := d.Exec(ctx, tc.sql); err != nil {
				t.Fatal(err)
			}
			r, err := d.Get(ctx, "run")
			if !errors.Is(err, tc.want) {
				t.Errorf("Get: %+v, %v; want %v", r, err, tc.want)
			}
			if name == "a result" {
				if e, err := d.Ended(ctx, "run"); !errors.Is(err, runstore.ErrCorrupt) {
					t.Errorf("Ended: %+v, %v", e, err)
				}
			}
		})
	}
}

// TestPostgresRefusals: a database that is not of this version, or of this key, is not used.
func TestPostgresRefusals(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), emptyDatabase(t)
	try := func(k *runstore.Key) error {
		d, err := postgres.Open(ctx, url, postgres.Options{Key: k})
		if err == nil {
			err = d.Close()
		}
		return err
	}
	if err := try(key(t, "one")); !errors.Is(err, postgres.ErrNotMigrated) {
		t.Errorf("without tables: %v", err)
	}
	if _, err := postgres.HasKey(ctx, url); !errors.Is(err, postgres.ErrNotMigrated) {
		t.Errorf("key without tables: %v", err)
	}
	from, to, err := postgres.Migrate(ctx, url)
	if err != nil || from != 0 || to < 2 {
		t.Fatalf("Migrate: from %d to %d, %v", from, to, err)
	}
	if again, same, err := postgres.Migrate(ctx, url); err != nil || again != to || same != to {
		t.Errorf("again: from %d to %d, %v", again, same, err)
	}
	if has, err := postgres.HasKey(ctx, url); err != nil || has {
		t.Errorf("a fresh database has a key: %v, %v", has, err)
	}
	if err := try(key(t, "one")); err != nil {
		t.Fatal(err)
	}
	if has, err := postgres.HasKey(ctx, url); err != nil || !has {
		t.Errorf("a used database has no key: %v, %v", has, err)
	}
	if err := try(key(t, "two")); !errors.Is(err, postgres.ErrOtherKey) {
		t.Errorf("another key: %v", err)
	}
	d := open(t, url, postgres.Options{Key: key(t, "one")})
	if err := d.Exec(ctx, `INSERT INTO quoin.migrations (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	if err := try(key(t, "one")); !errors.Is(err, postgres.ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
	if _, _, err := postgres.Migrate(ctx, url); !errors.Is(err, postgres.ErrNewer) {
		t.Errorf("Migrate of a newer version: %v", err)
	}
}

// TestPostgresTimesOfEffects: a host with a wrong clock gets the times back that it gave, and
// stores the database's times.
func TestPostgresTimesOfEffects(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	create(t, d, record("before")).Release() // which starts the lease
	d.Ahead(3 * time.Hour)
	now := time.Now().UTC().Round(time.Microsecond)
	header := &runstore.Effects{Created: now, Expires: now.Add(time.Hour)}
	j, err := d.OpenEffects(ctx, "run", header)
	must(t, err)
	defer j.Close()
	var stored time.Time
	must(t, d.QueryRow(ctx, `SELECT expires FROM quoin.effects WHERE run = 'run'`).Scan(&stored))
	if want := header.Expires.Add(3 * time.Hour); !stored.Equal(want) {
		t.Errorf("the database has %s, want %s", stored, want)
	}
	read, err := d.Effects(ctx, "run")
	must(t, err)
	list, err := d.ListEffects(ctx)
	must(t, err)
	items, err := d.Items(ctx)
	must(t, err)
	if len(list) != 1 || len(items) != 2 {
		t.Fatalf("%d journals, %d items", len(list), len(items))
	}
	for name, got := range map[string]*runstore.Effects{"EffectJournal.Effects": j.Effects(), "Effects": read, "ListEffects": list[0]} {
		if !got.Created.Equal(header.Created) || !got.Expires.Equal(header.Expires) {
			t.Errorf("%s: from %s to %s, want %s to %s", name, got.Created, got.Expires, header.Created, header.Expires)
		}
	}
	if got := items[1].Expires; items[1].ID != "run" || !got.Equal(header.Expires) {
		t.Errorf("Items: %+v, want it to expire at %s", items[1], header.Expires)
	}
}

// TestPostgresEffects: a journal of effects has one writer, survives it, and verifies.
func TestPostgresEffects(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	now := time.Now().UTC()
	header := &runstore.Effects{Created: now, Expires: now.Add(time.Hour)}
	if _, err := a.OpenEffects(ctx, "run", nil); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("a journal that is not there: %v", err)
	}
	j, err := a.OpenEffects(ctx, "run", header)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*postgres.DB{a, b} {
		if _, err := other.OpenEffects(ctx, "run", header); !errors.Is(err, runstore.ErrClaimed) {
			t.Errorf("a second writer: %v", err)
		}
	}
	effect := runstore.Effect{Number: 1, CallID: "c1", Tool: "t", State: runstore.EffectUnknown, At: now}
	if err := j.Put(false, effect); err != nil {
		t.Fatal(err)
	}
	effect.State, effect.Inverse, effect.Input = runstore.EffectDone, "undo", json.RawMessage(`{"id":1}`)
	if err := j.Put(true, effect, runstore.Effect{Number: 2, CallID: "c2", State: runstore.EffectFinal, At: now}); err != nil {
		t.Fatal(err)
	}
	pause(t, a)
	k, err := b.OpenEffects(ctx, "run", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Put(true, runstore.Effect{Number: 3, CallID: "c3"}); !errors.Is(err, runstore.ErrFenced) {
		t.Errorf("a stale writer: %v", err)
	}
	if got := k.Effects().Effects; len(got) != 2 || got[0].State != runstore.EffectDone || string(got[0].Input) != `{"id":1}` {
		t.Errorf("read %+v", got)
	}
	// Beyond the bound the journal is written again, with what it leaves out.
	many := make([]runstore.Effect, runstore.MaxEffects)
	for i := range many {
		many[i] = runstore.Effect{Number: i + 3, CallID: "c", State: runstore.EffectFinal, At: now}
	}
	if err := k.Put(true, many...); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := k.Put(false, many[:900]...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := a.Effects(ctx, "run")
	if err != nil || got.Omitted != 2 || len(got.Effects) != runstore.MaxEffects {
		t.Errorf("read %d effects, %d left out, %v", len(got.Effects), got.Omitted, err)
	}
	if list, err := a.ListEffects(ctx); err != nil || len(list) != 1 {
		t.Errorf("list %v, %v", list, err)
	}
	k.Close()
}

// TestPostgresMigrationsAtOnce: several hosts may migrate one database at the same time.
func TestPostgresMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	open(t, url, slow)
}
