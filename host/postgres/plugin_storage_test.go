package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// meddler does something around the attempts of statements.
type meddler struct {
	attempt func(do func() error) error // of the next statement; nil: it is made as it is
}

// meddling returns o with statements that meet a meddler.
func meddling(o postgres.Options) (postgres.Options, *meddler) {
	m := &meddler{}
	return postgres.Attempting(o, func(ctx context.Context, do func(context.Context) error) error {
		attempt := m.attempt
		if m.attempt = nil; attempt == nil {
			return do(ctx)
		}
		return attempt(func() error { return do(context.WithoutCancel(ctx)) })
	}), m
}

// next has attempt make the statement number n from now.
func (m *meddler) next(n int, attempt func(do func() error) error) {
	m.attempt = attempt
	for range n - 1 {
		later := m.attempt
		m.attempt = func(do func() error) error {
			m.attempt = later
			return do()
		}
	}
}

// TestPostgresAPluginWriteWhoseAnswerIsLost counts once, and says so, also if other hosts write
// before it is made again.
func TestPostgresAPluginWriteWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, m := meddling(slow)
	d, b := open(t, url, o), open(t, url, slow)
	fail := func(err error) { t.Errorf("storage: %v", err) }
	set := func(t *testing.T, s protocol.Storage, key, value string, expect *uint64) {
		t.Helper()
		_, err := s.Set(ctx, key, []byte(value), expect)
		must(t, err)
	}
	for name, tc := range map[string]struct {
		counts bool // the first attempt does
		others func(t *testing.T, id string)
		code   string // of the error of the write
		want   string // the value after it
	}{
		"nothing else": {true, func(*testing.T, string) {}, "", "2"},
		"other keys": {true, func(t *testing.T, id string) {
			other := b.PluginStorage(id, fail)
			for n := range 3 {
				set(t, other, fmt.Sprint("other", n), "1", nil)
			}
		}, "", "2"},
		"the key": {true, func(t *testing.T, id string) { set(t, b.PluginStorage(id, fail), "n", "newer", nil) }, "", "newer"},
		"a rewrite": {true, func(t *testing.T, id string) {
			other := b.PluginStorage(id, fail)
			for range 4 {
				set(t, other, "large", strings.Repeat("x", protocol.MaxStorageValue), nil)
			}
			var first int
			must(t, b.QueryRow(ctx, `SELECT min(n) FROM quoin.plugin_entries WHERE plugin = $1`, id).Scan(&first))
			if first <= 2 {
				t.Errorf("the log starts at %d: it was not rewritten", first)
			}
		}, "", "2"},
		"the same by another host": {false, func(t *testing.T, id string) {
			other := b.PluginStorage(id, fail)
			e, err := other.Get(ctx, "n")
			must(t, err)
			set(t, other, "n", "2", &e.Revision)
		}, protocol.CodeStorageConflict, "2"},
		"more than are told apart": {true, func(t *testing.T, id string) {
			other := b.PluginStorage(id, fail)
			for n := range 40 {
				set(t, other, "other", fmt.Sprint(n), nil)
			}
		}, protocol.CodeStorageFailed, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			id := rand.Text()
			fails := fail
			if tc.code == protocol.CodeStorageFailed {
				fails = func(error) {}
			}
			s := d.PluginStorage(id, fails)
			set(t, s, "n", "1", nil)
			e, err := s.Get(ctx, "n")
			must(t, err)
			m.next(2, func(do func() error) error { // the first one reads
				if tc.counts {
					must(t, do())
				}
				tc.others(t, id)
				return io.ErrUnexpectedEOF
			})
			_, err = s.Set(ctx, "n", []byte("2"), &e.Revision)
			if code := storageCode(err); code != tc.code {
				t.Errorf("error %v, want code %q", err, tc.code)
			}
			for _, s := range []protocol.Storage{s, b.PluginStorage(id, fail)} {
				e, err := s.Get(ctx, "n")
				must(t, err)
				if string(e.Value) != tc.want {
					t.Errorf("it is %q, want %q", e.Value, tc.want)
				}
			}
			set(t, s, "after", "1", nil)
		})
	}
}

// storageCode is the code of an error for the plugin, or what else the error says.
func storageCode(err error) string {
	var own *protocol.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return own.Code
	}
	return err.Error()
}

// TestPostgresAPluginWriteThatStillWaits at the server, when it is made again: the second attempt
// waits for the first, and knows it.
func TestPostgresAPluginWriteThatStillWaits(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, m := meddling(slow)
	d := open(t, url, o)
	s := d.PluginStorage("acme", func(err error) { t.Errorf("storage: %v", err) })
	revision, err := s.Set(ctx, "n", []byte("1"), nil)
	must(t, err)
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(ctx)
	tx, err := other.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM quoin.plugin_storages FOR UPDATE`)
	must(t, err)
	wait := func(attempts int) (err error) {
		for waiting := 0; err == nil && waiting < attempts; {
			err = d.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		}
		return err
	}
	first, unlocked := make(chan error, 1), make(chan error, 1)
	m.next(2, func(do func() error) error {
		go func() { first <- do() }()
		must(t, wait(1))
		m.next(1, func(do func() error) error {
			go func() { unlocked <- errors.Join(wait(2), tx.Rollback(ctx)) }()
			return do()
		})
		return io.ErrUnexpectedEOF
	})
	_, err = s.Set(ctx, "n", []byte("2"), &revision)
	must(t, errors.Join(err, <-first, <-unlocked))
}

// TestPostgresPluginStorageWithoutItsEntries is damaged: no write waits for entries that will
// not come.
func TestPostgresPluginStorageWithoutItsEntries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	for left := range 3 {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			id, heard := rand.Text(), error(nil)
			s := d.PluginStorage(id, func(err error) { heard = err })
			for range 3 {
				_, err := s.Set(ctx, "a", []byte("1"), nil)
				must(t, err)
			}
			must(t, d.Exec(ctx, `DELETE FROM quoin.plugin_entries WHERE plugin = $1 AND n > $2`, id, left))
			_, err := s.Set(ctx, "a", []byte("1"), nil)
			if err == nil || heard == nil || !strings.Contains(heard.Error(), "entries are missing") {
				t.Errorf("the plugin hears %v, the host %v", err, heard)
			}
		})
	}
}

// TestPostgresPluginStorageThatIsLostWhileItIsRead: what a host has read of it before does
// not count.
func TestPostgresPluginStorageThatIsLostWhileItIsRead(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	o, m := meddling(slow)
	d, other := open(t, url, o), open(t, url, slow)
	fail := func(err error) { t.Errorf("storage: %v", err) }
	fill := func(what string, n int) {
		s := other.PluginStorage("acme", fail)
		for i := range n {
			_, err := s.Set(ctx, fmt.Sprint(what, i), make([]byte, 900_000), nil)
			must(t, err)
		}
	}
	fill("old", 7)
	m.next(2, func(do func() error) error { // which reads the second page
		must(t, other.Exec(ctx, `DELETE FROM quoin.plugin_entries WHERE n > 3`))
		must(t, other.Exec(ctx, `UPDATE quoin.plugin_storages SET head = 3`))
		fill("new", 5)
		return do()
	})
	got, _, err := d.PluginStorage("acme", fail).List(ctx, "", "", 0)
	must(t, err)
	want, _, err := other.PluginStorage("acme", fail).List(ctx, "", "", 0)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}
