package postgres_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestPostgresALateStatementChangesNothing: a host gives a statement up, by making it again
// or by telling its caller that it has failed. What the host has written since stays when
// the statement arrives after all.
func TestPostgresALateStatementChangesNothing(t *testing.T) {
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

// TestPostgresAnswersAreMadeAgain: answers whose commit stands, though the host was not
// told, are in the journal once. Those that arrive late are before the next ones.
func TestPostgresAnswersAreMadeAgain(t *testing.T) {
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
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := b.Claim(ctx, "run")
		if err == nil {
			c.Release()
			return
		}
		if !errors.Is(err, runstore.ErrClaimed) || time.Now().After(end) {
			t.Fatal(err)
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
