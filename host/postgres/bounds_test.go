package postgres_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
)

// TestPostgresLargeRunsAreNotSent: of a run that is larger than any host writes, the
// database sends the size alone, whichever row is too large.
func TestPostgresLargeRunsAreNotSent(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, postgres.Bounded(slow, 10_000))
	for name, alter := range map[string]string{
		"header":            `UPDATE quoin.runs SET header = $2 WHERE id = $1`,
		"image":             `UPDATE quoin.runs SET image = $2 WHERE id = $1`,
		"seal":              `UPDATE quoin.runs SET seal = $2 WHERE id = $1`,
		"body of a row":     `UPDATE quoin.journal SET body = $2 WHERE run = $1`,
		"seal of a row":     `UPDATE quoin.journal SET seal = $2 WHERE run = $1`,
		"many small rows":   `INSERT INTO quoin.journal SELECT $1, n, '', substr($2::bytea, 1, 1), '' FROM generate_series(10, 10010) n`,
		"a large result":    `UPDATE quoin.runs SET image = $2, ended = true WHERE id = $1`,
		"an effect":         `INSERT INTO quoin.effect_log VALUES ($1, 1, $2, '')`,
		"seal of an effect": `INSERT INTO quoin.effect_log VALUES ($1, 1, '', $2)`,
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(name, " ", "_")
			c := create(t, d, record(id))
			defer c.Release()
			if err := c.PutCalls(ctx, 1, settled(1, `1`)); err != nil {
				t.Fatal(err)
			}
			j, err := d.OpenEffects(ctx, id, &runstore.Effects{RunID: id, Created: time.Now(), Expires: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if err := d.Exec(ctx, alter, id, make([]byte, 10_001)); err != nil {
				t.Fatal(err)
			}
			_, err = d.Get(ctx, id)
			switch name {
			case "a large result":
				_, err = d.Ended(ctx, id)
			case "an effect", "seal of an effect":
				_, err = d.Effects(ctx, id)
			}
			if !errors.Is(err, runstore.ErrCorrupt) || !strings.Contains(err.Error(), "at most 10000 are written") {
				t.Errorf("got %v, want ErrCorrupt with the bound", err)
			}
		})
	}
	fits := record("fits")
	create(t, d, fits).Release()
	holds(t, d, fits)
	list, err := d.List(ctx)
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	if want := "[an_effect fits image seal_of_an_effect]"; err != nil || fmt.Sprint(ids) != want {
		t.Errorf("listed %v, %v; want %s: a list reads no images", ids, err, want)
	}
}

// TestPostgresListsAreBounded: what no host writes is left out.
func TestPostgresListsAreBounded(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, postgres.Listing(postgres.Bounded(slow, 10_000), 3))
	for run, session := range map[string]string{"fits": "s", "large": strings.Repeat("s", 20_000)} {
		j, err := a.OpenEffects(ctx, run, &runstore.Effects{
			Session: codemode.Session{SessionID: session}, Created: time.Now(), Expires: time.Now().Add(time.Hour),
		})
		must(t, err)
		j.Close()
	}
	for d, want := range map[*postgres.DB]string{a: "[fits large]", b: "[fits]"} {
		list, err := d.ListEffects(ctx)
		must(t, err)
		var ids []string
		for _, j := range list {
			ids = append(ids, j.RunID)
		}
		if slices.Sort(ids); fmt.Sprint(ids) != want {
			t.Errorf("journals %v, want %s", ids, want)
		}
	}
	if _, err := a.OpenEffects(ctx, "larger", &runstore.Effects{
		Session: codemode.Session{SessionID: strings.Repeat("s", 2<<20)}, Created: time.Now(), Expires: time.Now().Add(time.Hour),
	}); !errors.Is(err, runstore.ErrTooLarge) {
		t.Errorf("a header that no host reads: %v", err)
	}
	fill := func(id string) {
		t.Helper()
		must(t, a.Exec(ctx, `
			INSERT INTO quoin.runs (id, owner, epoch, ended, generation, expires, header, image, image_sum, seal)
			VALUES ($1, $2, 1, false, 1, now(), '', '', '', '')`, id, a.Host()))
	}
	fill("run")
	fill(strings.Repeat("x", 1000))
	items, err := b.Items(ctx)
	if err != nil || len(items) != 3 {
		t.Errorf("%d items, %v; want 3", len(items), err)
	}
	fill("one_more")
	if items, err = b.Items(ctx); err == nil || !strings.Contains(err.Error(), "more than 3") {
		t.Errorf("%d items, %v; want an error", len(items), err)
	}
	before := a.Forgotten()
	if err := a.FindForgotten(ctx); err != nil || a.Forgotten() != before+2 {
		t.Errorf("%d runs that the host owns unawares, %v; want 2", a.Forgotten()-before, err)
	}
}

// TestPostgresEffectsOfManyBytesAreWrittenAgain: a journal does not grow beyond what is read.
func TestPostgresEffectsOfManyBytesAreWrittenAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	j, err := d.OpenEffects(ctx, "run", &runstore.Effects{Created: time.Now(), Expires: time.Now().Add(time.Hour)})
	must(t, err)
	defer j.Close()
	input, err := json.Marshal(strings.Repeat("x", runstore.MaxInverseInput-2))
	must(t, err)
	var effects []runstore.Effect
	for n := range runstore.MaxEffectBytes / len(input) {
		effects = append(effects, runstore.Effect{Number: n + 1, State: runstore.EffectDone, Input: input, At: time.Now()})
	}
	for range 12 {
		must(t, j.Put(false, effects...))
	}
	var bytes int
	must(t, d.QueryRow(ctx, `SELECT sum(octet_length(header)) FROM quoin.effect_log`).Scan(&bytes))
	if most := 40 << 20; bytes > most {
		t.Errorf("the journal has %d bytes, want at most %d", bytes, most)
	}
	got, err := d.Effects(ctx, "run")
	if err != nil || len(got.Effects) != len(effects) {
		t.Errorf("read: %v", err)
	}
}

// TestPostgresListsInPages: no statement reads more than a page, and all runs are listed
// once.
func TestPostgresListsInPages(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, trips := postgres.Counting(slow)
	d := open(t, database(t), o)
	const runs = 7
	args, err := json.Marshal(string(bytes.Repeat([]byte("x"), 2<<20)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range runs {
		r := record(fmt.Sprintf("run_%d", n))
		r.Calls[0].Args = args
		c := create(t, d, r)
		if err := c.PutCalls(ctx, 1, settled(1, string(args))); err != nil {
			t.Fatal(err)
		}
		c.Release()
	}
	for _, known := range []bool{false, true} { // the first statement is prepared, too
		trips.Take()
		list, err := d.List(ctx)
		if err != nil || len(list) != runs {
			t.Fatalf("%d runs, %v", len(list), err)
		}
		for n, r := range list {
			if r.ID != fmt.Sprintf("run_%d", n) || len(r.Calls[0].Answer) != len(args) || r.ImageBytes != len("image of run_0") || r.Image != nil {
				t.Errorf("run %d is %s with an answer of %d bytes, an image of %d", n, r.ID, len(r.Calls[0].Answer), r.ImageBytes)
			}
		}
		// A page of 4 MiB has two runs of 2 MiB and a little more.
		if n := trips.Take(); known && n != 4 {
			t.Errorf("%d statements", n)
		}
	}
}

// TestDocumentsInPagesOnPostgres: all documents are listed once, however many pages they are.
func TestDocumentsInPagesOnPostgres(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Options{})
	for name, sql := range map[string]string{
		"many":      `INSERT INTO quoin.documents SELECT $1, n || '.json', '.json', '\x01', NULL, '' FROM generate_series(1, 2500) n`,
		"large":     `INSERT INTO quoin.documents SELECT $1, n || '.json', '.json', decode(repeat('01', 3000000), 'hex'), NULL, '' FROM generate_series(1, 5) n`,
		"too large": `INSERT INTO quoin.documents SELECT $1, n || '.json', '.json', decode(repeat('01', 5000000), 'hex'), NULL, '' FROM generate_series(1, 3) n`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Exec(ctx, sql, name); err != nil {
				t.Fatal(err)
			}
			docs, err := d.Documents(name, "", documents.DirOptions{}).All(ctx, ".json")
			if want := map[string]int{"many": 2500, "large": 5, "too large": 3}[name]; err != nil || len(docs) != want {
				t.Errorf("%d documents, %v; want %d", len(docs), err, want)
			}
			seen := map[string]bool{}
			for _, doc := range docs {
				if seen[doc.Name] {
					t.Errorf("%s is there twice", doc.Name)
				}
				seen[doc.Name] = true
				if corrupt := errors.Is(doc.Err, documents.ErrCorrupt); corrupt != (name == "too large") {
					t.Errorf("%s: %v", doc.Name, doc.Err)
				}
			}
		})
	}
}

// TestPluginStorageInPagesOnPostgres: a storage of several pages is read whole.
func TestPluginStorageInPagesOnPostgres(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Options{})
	fail := func(err error) { t.Errorf("storage: %v", err) }
	large := make([]byte, 900_000)
	for n := range 9 {
		if _, err := d.PluginStorage("acme", fail).Set(ctx, fmt.Sprintf("key %d", n), large, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, more, err := d.PluginStorage("acme", fail).List(ctx, "", "", 0)
	if err != nil || len(keys) != 9 || more {
		t.Errorf("keys %q, %v", keys, err)
	}
}

// TestPostgresAnswersOfARunAreBounded.
func TestPostgresAnswersOfARunAreBounded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	c := create(t, d, record("run"))
	postgres.Fill(c, 64)
	if err := c.PutCalls(ctx, 1, settled(1, `"an answer that is somewhat longer than sixty-four bytes are, which is too long"`)); !errors.Is(err, runstore.ErrTooLarge) {
		t.Errorf("an answer beyond the bound: %v, want ErrTooLarge", err)
	}
	c.Release()
}
