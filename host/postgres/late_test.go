package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestPostgresALateStatementChangesNothing: a host gives a statement up, by making it again
// or by telling its caller that it has failed. What the host has written since stays when
// the statement arrives after all.
func TestPostgresALateStatementChangesNothing(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(slow)
	d := open(t, url, o)
	next := func(r *runstore.Record) *runstore.Record {
		out := *r
		out.Generation++
		out.Image = []byte("the next image")
		return &out
	}
	again := io.ErrUnexpectedEOF // after which a statement is made again
	for name, write := range map[string]func(t *testing.T, c runstore.Claim, r *runstore.Record) *runstore.Record{
		"a checkpoint after another one": func(t *testing.T, c runstore.Claim, r *runstore.Record) *runstore.Record {
			late.Lose(again, false)
			second, third := next(r), next(next(r))
			must(t, c.Checkpoint(ctx, second))
			must(t, c.Checkpoint(ctx, third))
			return third
		},
		"a checkpoint that has failed": func(t *testing.T, c runstore.Claim, r *runstore.Record) *runstore.Record {
			late.Lose(postgres.ErrInjected, false)
			second := next(r)
			if err := c.Checkpoint(ctx, next(second)); !errors.Is(err, postgres.ErrInjected) {
				t.Errorf("got %v", err)
			}
			must(t, c.Checkpoint(ctx, second))
			return second
		},
		"a checkpoint after answers": func(t *testing.T, c runstore.Claim, r *runstore.Record) *runstore.Record {
			late.Lose(again, false)
			second := next(r)
			must(t, c.Checkpoint(ctx, second))
			must(t, c.PutCalls(ctx, second.Generation, settled(1, `"kept"`)))
			return withAnswer(second, 0, `"kept"`)
		},
		"more answers than were written": func(t *testing.T, c runstore.Claim, r *runstore.Record) *runstore.Record {
			late.Lose(postgres.ErrInjected, false)
			if err := c.PutCalls(ctx, 1, append(settled(1, `"lost"`), settled(2, `"lost"`)...)); !errors.Is(err, postgres.ErrInjected) {
				t.Errorf("got %v", err)
			}
			must(t, c.PutCalls(ctx, 1, settled(1, `"kept"`)))
			return withAnswer(r, 0, `"kept"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record("run_" + rand.Text())
			c := create(t, d, r)
			want := write(t, c, r)
			holds(t, d, want)
			_ = late.Arrive(ctx) // with or without an error
			holds(t, d, want)
			must(t, c.PutCalls(ctx, want.Generation, settled(2, `"after"`)))
			holds(t, d, withAnswer(want, 1, `"after"`))
		})
	}
}

// TestPostgresAnswersAreMadeAgain: answers that were committed, though the host was not told,
// are in the journal once. Answers that arrive late are before the next ones.
func TestPostgresAnswersAreMadeAgain(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(slow)
	d := open(t, url, o)
	r := record("lost_answer")
	c := create(t, d, r)
	late.Lose(io.ErrUnexpectedEOF, true)
	must(t, c.PutCalls(ctx, 1, settled(1, `1`)))
	var rows int
	must(t, d.QueryRow(ctx, `SELECT count(*) FROM quoin.journal WHERE run = $1`, r.ID).Scan(&rows))
	if rows != 1 {
		t.Errorf("%d rows, want 1", rows)
	}
	must(t, c.PutCalls(ctx, 1, settled(2, `2`)))
	holds(t, d, withAnswer(withAnswer(r, 0, `1`), 1, `2`))
}

// TestPostgresALateClaimIsReleased: a claim that counts although its host has another one
// ends that one. The run is free for others once it is released.
func TestPostgresALateClaimIsReleased(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(postgres.Options{Lease: 400 * time.Millisecond})
	a, b := open(t, url, o), open(t, url, slow)
	create(t, a, record("run")).Release()
	late.Lose(io.ErrUnexpectedEOF, false)
	c, err := a.Claim(ctx, "run")
	must(t, err)
	must(t, late.Arrive(ctx))
	if err := c.Checkpoint(ctx, record("run")); !errors.Is(err, runstore.ErrFenced) {
		t.Errorf("a write of a claim before the newest: %v, want ErrFenced", err)
	}
	c.Release()
	claimed(t, func() (func(), error) { return claimRun(b) })()
}

// TestPostgresAClaimThatCountsAfterItsRelease: the host has told its caller that the claim
// has failed, and has found nothing to release, when the claim arrives.
func TestPostgresAClaimThatCountsAfterItsRelease(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(postgres.Options{Lease: 400 * time.Millisecond})
	a, b := open(t, url, o), open(t, url, slow)
	create(t, a, record("run")).Release()
	j, err := a.OpenEffects(ctx, "run", &runstore.Effects{Created: time.Now(), Expires: time.Now().Add(time.Hour)})
	must(t, err)
	j.Close()
	for table, claim := range map[string]func(*postgres.DB) (release func(), err error){
		"runs": claimRun,
		"effects": func(d *postgres.DB) (func(), error) {
			j, err := d.OpenEffects(ctx, "run", nil)
			if err != nil {
				return nil, err
			}
			return j.Close, nil
		},
	} {
		t.Run(table, func(t *testing.T) {
			epoch := func() (n int) {
				must(t, b.QueryRow(ctx, `SELECT epoch FROM quoin.`+table).Scan(&n))
				return n
			}
			before := epoch()
			late.Lose(postgres.ErrInjected, false)
			if _, err := claim(a); !errors.Is(err, postgres.ErrInjected) {
				t.Fatalf("a claim that is given up: %v", err)
			}
			a.ReleaseForgotten(ctx)
			must(t, late.Arrive(ctx))
			release := claimed(t, func() (func(), error) { return claim(b) })
			defer release()
			if after := epoch(); after != before+2 {
				t.Errorf("epoch %d, want %d: of the late claim and of this one", after, before+2)
			}
		})
	}
}

func claimRun(d *postgres.DB) (release func(), err error) {
	c, err := d.Claim(context.Background(), "run")
	if err != nil {
		return nil, err
	}
	return c.Release, nil
}

// claimed claims until no other host stands in the way.
func claimed(t *testing.T, claim func() (release func(), err error)) (release func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		release, err := claim()
		if err == nil {
			return release
		}
		if !errors.Is(err, runstore.ErrClaimed) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestPostgresAResultWhoseClaimCameLateIsFreed: a sweep finds that this host owns it unawares, or
// no sweep would take it while the host lives.
func TestPostgresAResultWhoseClaimCameLateIsFreed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, late := postgres.Delaying(slow)
	d := open(t, database(t), o)
	c := create(t, d, record("run"))
	must(t, c.End(ctx, &runstore.Ended{ID: "run", Expires: time.Now().Add(-time.Second), Result: []byte("{}")}))
	c.Release()
	late.Lose(postgres.ErrInjected, false)
	if _, err := d.Claim(ctx, "run"); !errors.Is(err, postgres.ErrInjected) {
		t.Fatalf("a claim that is given up: %v", err)
	}
	d.ReleaseForgotten(ctx)
	must(t, late.Arrive(ctx))
	_, err := d.Sweep(ctx, time.Now())
	must(t, err)
	d.ReleaseForgotten(ctx)
	_, err = d.Sweep(ctx, time.Now())
	must(t, err)
	var left int
	must(t, d.QueryRow(ctx, `SELECT count(*) FROM quoin.runs`).Scan(&left))
	if left != 0 {
		t.Error("the result is left although its time is over")
	}
}

// TestPostgresALateReleaseEndsNoNewerClaim: a host frees runs that it may own unawares, gives
// that up, and claims one of them.
func TestPostgresALateReleaseEndsNoNewerClaim(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	for nth := range 2 { // of the statements that free runs
		id := fmt.Sprintf("run_%d", nth)
		o, late := postgres.Delaying(slow)
		o, network := postgres.Slow(o)
		d := open(t, url, o)
		r := record(id)
		create(t, d, r).Release()
		late.Lose(postgres.ErrInjected, true)
		if _, err := d.Claim(ctx, id); !errors.Is(err, postgres.ErrInjected) {
			t.Fatalf("a claim whose answer was lost: %v", err)
		}
		network.Keep(id, nth+1)
		d.ReleaseForgotten(ctx)
		c, err := d.Claim(ctx, id)
		must(t, err)
		must(t, network.Deliver())
		r.Generation++
		if err := c.Checkpoint(ctx, r); err != nil {
			t.Errorf("a write of the newest claim after the late release: %v", err)
		}
	}
}

func withAnswer(r *runstore.Record, call int, answer string) *runstore.Record {
	out := *r
	out.Calls = append([]runstore.Call(nil), r.Calls...)
	out.Calls[call].State, out.Calls[call].OK, out.Calls[call].Answer = runstore.CallSettled, true, json.RawMessage(answer)
	return &out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitsForALock returns once a statement of the server waits for a lock.
func waitsForALock(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for waits := false; !waits; {
		must(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)`).Scan(&waits))
	}
}

// TestPostgresAnswersThatCommitDuringACheckpoint: the host has given them up, and their
// statement still runs at the server while the next record waits for its row.
func TestPostgresAnswersThatCommitDuringACheckpoint(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, slow)
	for name, write := range map[string]func(runstore.Claim, *runstore.Record) error{
		"Checkpoint": func(c runstore.Claim, r *runstore.Record) error { return c.Checkpoint(ctx, r) },
		"End": func(c runstore.Claim, r *runstore.Record) error {
			return c.End(ctx, &runstore.Ended{ID: r.ID, Expires: r.Expires, Result: []byte(`1`)})
		},
		"Delete": func(c runstore.Claim, _ *runstore.Record) error { return c.Delete(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			r := record("run_" + name)
			c := create(t, d, r)
			other, err := pgx.Connect(ctx, url)
			must(t, err)
			defer other.Close(context.Background())
			tx, err := other.Begin(ctx)
			must(t, err)
			_, err = tx.Exec(ctx, `SELECT FROM quoin.runs WHERE id = $1 FOR NO KEY UPDATE`, r.ID)
			must(t, err)
			_, err = tx.Exec(ctx, `INSERT INTO quoin.journal VALUES ($1, 1, '{}', '', 'x')`, r.ID)
			must(t, err)
			next := *r
			next.Generation++
			done := make(chan error, 1)
			go func() { done <- write(c, &next) }()
			waitsForALock(t, other)
			must(t, tx.Commit(ctx))
			must(t, <-done)
			var rows int
			must(t, other.QueryRow(ctx, `SELECT count(*) FROM quoin.journal WHERE run = $1`, r.ID).Scan(&rows))
			if rows != 0 {
				t.Errorf("%d rows of the journal before are there still", rows)
			}
		})
	}
}

// TestPostgresAClaimThatHasWaitedTakesNoLiveRun: the claim of another host takes longer to
// commit than its lease had left, and the lease is renewed in that time.
func TestPostgresAClaimThatHasWaitedTakesNoLiveRun(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, postgres.Options{Lease: time.Second}), open(t, url, slow)
	create(t, a, record("run")).Release()
	create(t, b, record("other")).Release()
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(context.Background())
	var seen time.Time // what the claim of b sees of the lease of a
	must(t, other.QueryRow(ctx, `SELECT lease_until FROM quoin.hosts WHERE id = $1`, a.Host()).Scan(&seen))
	tx, err := other.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `UPDATE quoin.runs SET owner = $1, epoch = epoch + 1 WHERE id = 'run'`, a.Host())
	must(t, err)
	done := make(chan error, 1)
	go func() { _, err := b.Claim(ctx, "run"); done <- err }()
	waitsForALock(t, other)
	must(t, other.QueryRow(ctx, `SELECT greatest(lease_until, $2) FROM quoin.hosts WHERE id = $1`, a.Host(), seen).Scan(&seen))
	for over := false; !over; { // a renews its lease
		must(t, other.QueryRow(ctx, `SELECT clock_timestamp() > $1`, seen).Scan(&over))
	}
	must(t, tx.Commit(ctx))
	if err := <-done; !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("a claim of a run that a live host has claimed: %v, want ErrClaimed", err)
	}
}

// TestPostgresARemovalWhoseAnswerIsLost: what is made again finds nothing to remove.
func TestPostgresARemovalWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, late := postgres.Delaying(slow)
	s := open(t, database(t), o).Documents("purpose", "", documents.DirOptions{})
	must(t, s.Create(ctx, "a.json", []byte("x"), time.Time{}))
	late.Lose(io.ErrUnexpectedEOF, true)
	must(t, s.Remove(ctx, "a.json"))
	if err := s.Remove(ctx, "a.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second removal: %v, want fs.ErrNotExist", err)
	}
}

// TestPostgresALockWhoseAnswerIsLost: a lock is free for others at once if its host believes
// that it could not take it.
func TestPostgresALockWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, late := postgres.Delaying(slow)
	d := open(t, database(t), o)
	late.Lose(postgres.ErrInjected, true)
	if _, _, err := d.Documents("purpose", "", documents.DirOptions{}).Lock(ctx, "a"); !errors.Is(err, postgres.ErrInjected) {
		t.Fatalf("got %v", err)
	}
	var held int
	must(t, d.QueryRow(ctx, `SELECT count(*) FROM quoin.document_locks`).Scan(&held))
	if held != 0 {
		t.Errorf("%d locks are held, want none", held)
	}
}

// TestPostgresEffectsOutlastWhatTheDatabaseLoses: a write that was given up arrives after the
// journal was written again, and rows are lost by a crash of the database that had answered
// before they were on its disk. The journal has what its writer has put.
func TestPostgresEffectsOutlastWhatTheDatabaseLoses(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(slow)
	d := open(t, url, o)
	now := time.Now()
	effect := func(n int) runstore.Effect {
		return runstore.Effect{Number: n, CallID: fmt.Sprint("c", n), State: runstore.EffectFinal, At: now}
	}
	for name, disturb := range map[string]func(t *testing.T, run string, j runstore.EffectJournal){
		"a late write": func(t *testing.T, _ string, j runstore.EffectJournal) {
			late.Lose(postgres.ErrInjected, false)
			if err := j.Put(true, effect(2)); !errors.Is(err, postgres.ErrInjected) {
				t.Errorf("got %v", err)
			}
			must(t, j.Put(true, effect(3)))
			must(t, late.Arrive(ctx))
		},
		"a late write after its second attempt": func(t *testing.T, _ string, j runstore.EffectJournal) {
			late.Lose(io.ErrUnexpectedEOF, false)
			must(t, j.Put(true, effect(2)))
			must(t, j.Put(true, effect(3)))
			must(t, late.Arrive(ctx))
		},
		"a lost row": func(t *testing.T, run string, j runstore.EffectJournal) {
			must(t, j.Put(false, effect(2)))
			must(t, d.Exec(ctx, `DELETE FROM quoin.effect_log WHERE run = $1 AND n = 2`, run))
			must(t, j.Put(true, effect(3)))
		},
		"all rows lost": func(t *testing.T, run string, j runstore.EffectJournal) {
			must(t, j.Put(false, effect(2)))
			must(t, d.Exec(ctx, `DELETE FROM quoin.effect_log WHERE run = $1`, run))
			must(t, j.Put(true, effect(3)))
		},
		"the newest fences lost": func(t *testing.T, run string, j runstore.EffectJournal) {
			var before, after int
			must(t, d.QueryRow(ctx, `SELECT epoch FROM quoin.effects WHERE run = $1`, run).Scan(&before))
			for range 2 {
				late.Lose(postgres.ErrInjected, true)
				if err := j.Put(true, effect(2)); !errors.Is(err, postgres.ErrInjected) {
					t.Errorf("got %v", err)
				}
				must(t, j.Put(true, effect(2))) // which writes all again
			}
			must(t, d.QueryRow(ctx, `SELECT epoch FROM quoin.effects WHERE run = $1`, run).Scan(&after))
			if after != before+2 {
				t.Errorf("epoch %d after %d, want two fences", after, before)
			}
			must(t, d.Exec(ctx, `UPDATE quoin.effects SET epoch = $2 WHERE run = $1`, run, before))
			must(t, j.Put(true, effect(3)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := "run_" + rand.Text()
			j, err := d.OpenEffects(ctx, run, &runstore.Effects{Created: now, Expires: now.Add(time.Hour)})
			must(t, err)
			must(t, j.Put(true, effect(1)))
			disturb(t, run, j)
			must(t, j.Put(true, effect(4)))
			j.Close()
			got, err := d.Effects(ctx, run)
			must(t, err)
			if len(got.Effects) != 4 {
				t.Errorf("read %+v", got.Effects)
			}
		})
	}
}

// TestPostgresAnswersOutlastWhatTheDatabaseLoses: a crash of the database has lost rows of
// the journal that it had answered for. The next answer is not put without those before it.
func TestPostgresAnswersOutlastWhatTheDatabaseLoses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	for name, lost := range map[string]string{
		"the newest row": `DELETE FROM quoin.journal WHERE run = $1 AND n = 2`,
		"all rows":       `DELETE FROM quoin.journal WHERE run = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			r := record("run_" + rand.Text())
			c := create(t, d, r)
			must(t, c.PutCalls(ctx, r.Generation, settled(1, `"first"`)))
			must(t, c.PutCalls(ctx, r.Generation, settled(1, `"second"`)))
			must(t, d.Exec(ctx, lost, r.ID))
			if err := c.PutCalls(ctx, r.Generation, settled(2, `"other"`)); !errors.Is(err, runstore.ErrCallsLost) {
				t.Errorf("an answer after those that are lost: %v, want ErrCallsLost", err)
			}
			must(t, c.PutCalls(ctx, r.Generation, append(settled(1, `"second"`), settled(2, `"other"`)...)))
			c.Release()
			holds(t, d, withAnswer(withAnswer(r, 0, `"second"`), 1, `"other"`))
		})
	}
}

// TestPostgresACheckpointOutlastsWhatTheDatabaseLoses: a failover has lost the newest record
// of a run. The host that holds the run writes the next one, and does not take the run for
// one that has ended.
func TestPostgresACheckpointOutlastsWhatTheDatabaseLoses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	r := record("run_" + rand.Text())
	c := create(t, d, r)
	must(t, d.Exec(ctx, `CREATE TABLE public.before AS SELECT * FROM quoin.runs WHERE id = $1`, r.ID))
	next := *r
	next.Generation = 2
	must(t, c.Checkpoint(ctx, &next))
	must(t, d.Exec(ctx, `UPDATE quoin.runs r SET generation = b.generation, header = b.header, image = b.image, image_sum = b.image_sum, seal = b.seal
		FROM public.before b WHERE r.id = b.id`))
	next.Generation = 3
	must(t, c.Checkpoint(ctx, &next))
	must(t, c.PutCalls(ctx, 3, settled(1, `"answer"`)))
	c.Release()
	holds(t, d, withAnswer(&next, 0, `"answer"`))
}

// TestPostgresPluginStorageOutlastsWhatTheDatabaseLoses: after the failover to a standby that
// lacks the newest entries, hosts continue with what there is, also if others have given the
// numbers of lost entries again.
func TestPostgresPluginStorageOutlastsWhatTheDatabaseLoses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	storage := func(id string) protocol.Storage {
		return d.PluginStorage(id, func(err error) { t.Errorf("storage: %v", err) })
	}
	set := func(s protocol.Storage, key, value string) {
		t.Helper()
		_, err := s.Set(ctx, key, []byte(value), nil)
		must(t, err)
	}
	want := func(s protocol.Storage, key, value string) {
		t.Helper()
		e, err := s.Get(ctx, key)
		must(t, err)
		if string(e.Value) != value {
			t.Errorf("%s is %q, want %q", key, e.Value, value)
		}
	}
	for name, tc := range map[string]struct {
		left  int // entries
		again int // entries that another host has written since
		a     string
	}{
		"read":                          {1, 0, "1"},
		"all is lost":                   {0, 0, ""},
		"the number is given again":     {1, 1, "1"},
		"more numbers are given again":  {1, 3, "1"},
		"all is lost, and another came": {0, 2, ""},
	} {
		for _, first := range []string{"read", "write"} {
			t.Run(name+", then "+first, func(t *testing.T) {
				id := rand.Text()
				s := storage(id)
				set(s, "a", "1")
				set(s, "a", "2")
				must(t, d.Exec(ctx, `DELETE FROM quoin.plugin_entries WHERE plugin = $1 AND n > $2`, id, tc.left))
				if tc.left == 0 {
					must(t, d.Exec(ctx, `DELETE FROM quoin.plugin_storages WHERE plugin = $1`, id))
				} else {
					must(t, d.Exec(ctx, `UPDATE quoin.plugin_storages SET head = $2 WHERE plugin = $1`, id, tc.left))
				}
				other := storage(id)
				for range tc.again {
					set(other, "b", "other")
				}
				if first == "read" {
					want(s, "a", tc.a)
				}
				set(s, "c", "3")
				for _, s := range []protocol.Storage{s, other, storage(id)} {
					want(s, "a", tc.a)
					want(s, "c", "3")
				}
				if tc.again > 0 {
					want(s, "b", "other")
				}
			})
		}
	}
}

// TestPostgresAClaimThatHasWaitedTakesNoRunOfANewHost: it had no lease when
// the statement of the claim started.
func TestPostgresAClaimThatHasWaitedTakesNoRunOfANewHost(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, slow)
	create(t, d, record("run")).Release()
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(context.Background())
	tx, err := other.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `INSERT INTO quoin.hosts (id, address, lease_until) VALUES ('host_new', '', now() + interval '1 hour')`)
	must(t, err)
	_, err = tx.Exec(ctx, `UPDATE quoin.runs SET owner = 'host_new', epoch = epoch + 1`)
	must(t, err)
	done := make(chan error, 1)
	go func() { _, err := d.Claim(ctx, "run"); done <- err }()
	waitsForALock(t, other)
	must(t, tx.Commit(ctx))
	if err := <-done; !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("a claim of a run that a new host has claimed: %v, want ErrClaimed", err)
	}
}

// TestPostgresAReleaseThatReleasedNothingIsMadeUp: a claim that was given up has counted
// after the one that is released.
func TestPostgresAReleaseThatReleasedNothingIsMadeUp(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, late := postgres.Delaying(slow)
	a, b := open(t, url, o), open(t, url, slow)
	create(t, a, record("run")).Release()
	late.Lose(postgres.ErrInjected, false)
	if _, err := a.Claim(ctx, "run"); !errors.Is(err, postgres.ErrInjected) {
		t.Fatalf("a claim that is given up: %v", err)
	}
	c, err := a.Claim(ctx, "run")
	must(t, err)
	must(t, late.Arrive(ctx))
	c.Release()
	a.ReleaseForgotten(ctx)
	if c, err = b.Claim(ctx, "run"); err != nil {
		t.Fatalf("a run that its host has released: %v", err)
	}
	c.Release()
}
