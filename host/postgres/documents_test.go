package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/documents/documentstest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

func TestDocumentsOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	one, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	n := 0
	documentstest.Run(t, func(t *testing.T, transient bool) (a, b documents.Store) {
		n++
		purpose, o := fmt.Sprintf("tests %d", n), documents.DirOptions{MaxBytes: documentstest.MaxBytes, Transient: transient}
		return one.Documents(purpose, ".done", o), other.Documents(purpose, ".done", o)
	}, func(t *testing.T, _ documents.Store, lock string) { endLock(t, one, lock) })
}

// TestAHintIsLostOnPostgres: a document that no hint tells of is found by the poll.
func TestAHintIsLostOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	one, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	heard := one.Documents("tests", "", documents.DirOptions{}).Watch(t.Context(), ".done")
	s := other.Documents("tests", "", documents.DirOptions{})
	for _, name := range []string{"a.done", "b.done"} {
		for len(heard) > 0 {
			<-heard
		}
		if err := s.Create(t.Context(), name, nil, time.Time{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
		case <-time.After(time.Minute):
			t.Fatalf("%s was never heard of", name)
		}
	}
}

// TestALockOfADeadHostOnPostgres is free once its lease is over.
func TestALockOfADeadHostOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	dead, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	if _, _, err := dead.Documents("tests", "", documents.DirOptions{}).Lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil { // no unlock: as a host that was killed
		t.Fatal(err)
	}
	s := other.Documents("tests", "", documents.DirOptions{})
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.Lock(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before that: %v", err)
	}
	endLock(t, other, "a")
	_, unlock, err := s.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// endLock has the time of a lock be over.
func endLock(t *testing.T, d *postgres.DB, lock string) {
	t.Helper()
	if err := d.Exec(t.Context(), `UPDATE quoin.document_locks SET until = clock_timestamp() - interval '1 second' WHERE name = $1`, lock); err != nil {
		t.Fatal(err)
	}
}

// TestPostgresASweepDeletesLocksOfDeadHosts, which no other host has wanted for a day.
func TestPostgresASweepDeletesLocksOfDeadHosts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	for name, ago := range map[string]string{"of a dead host": "25 hours", "newer": "23 hours"} {
		must(t, d.Exec(ctx, `INSERT INTO quoin.document_locks VALUES ('tests', $1, 'h', clock_timestamp() - $2::interval)`, name, ago))
	}
	_, err := d.Sweep(ctx, time.Now())
	must(t, err)
	var left string
	must(t, d.QueryRow(ctx, `SELECT string_agg(name, ', ') FROM quoin.document_locks`).Scan(&left))
	if left != "newer" {
		t.Errorf("left are %s, want the newer one alone", left)
	}
}

// TestPostgresAClockThatIsAheadExpiresNothing: a host that thinks that it is tomorrow ends no
// approvals and kept programs of the others, and a decision that is entered there counts.
func TestPostgresAClockThatIsAheadExpiresNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	now, tomorrow := time.Now(), time.Now().Add(24*time.Hour)
	approvals := d.Approvals()
	for id, expires := range map[string]time.Time{"0": now.Add(-time.Hour), "1": now.Add(time.Hour)} {
		must(t, approvals.Add(ctx, &policy.Approval{
			ID: "apr_" + strings.Repeat(id, 32), State: policy.StatePending, Severity: policy.SeverityInfo,
			Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}, Created: now.Add(-2 * time.Hour), Expires: expires,
		}))
	}
	must(t, approvals.Sweep(ctx, tomorrow))
	for id, want := range map[string]policy.State{"0": policy.StateExpired, "1": policy.StatePending} {
		if a, err := approvals.Get(ctx, "apr_"+strings.Repeat(id, 32)); err != nil || a.State != want {
			t.Errorf("approval %s is %+v (%v), want it %s", id, a, err, want)
		}
	}
	pending := "apr_" + strings.Repeat("1", 32)
	if a, err := approvals.Resolve(ctx, pending, policy.Resolution{State: policy.StateExpired, At: tomorrow}); err != nil || a.State != policy.StatePending {
		t.Errorf("the approval is %+v (%v), want it pending", a, err)
	}
	if a, err := policy.Decide(ctx, approvals, pending, policy.AllowOnce, "alice", tomorrow); err != nil || a.State != policy.StateAllowed {
		t.Errorf("the approval is %+v (%v), want it allowed", a, err)
	}
	kept := d.Documents("tests", "", documents.DirOptions{Transient: true})
	must(t, kept.Create(ctx, "over.kept", nil, now.Add(-time.Hour)))
	must(t, kept.Create(ctx, "soon.kept", nil, now.Add(time.Hour)))
	must(t, kept.Sweep(ctx, tomorrow, 0))
	if names, err := kept.Names(ctx, ".kept", time.Time{}); err != nil || len(names) != 1 || names[0] != "soon.kept" {
		t.Errorf("kept are %q (%v), want soon.kept", names, err)
	}
}

// TestALostLockIsNotTakenAgainOnPostgres: its holder learns that it is lost, and does not
// take it although it is free by then.
func TestALostLockIsNotTakenAgainOnPostgres(t *testing.T) {
	t.Parallel()
	said := make(lines, 100)
	d := open(t, database(t), postgres.RenewingLocks(postgres.Options{Logger: slog.New(slog.NewTextHandler(said, nil))}))
	_, unlock, err := d.Documents("tests", "", documents.DirOptions{}).Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := d.Exec(t.Context(), `DELETE FROM quoin.document_locks`); err != nil { // another has had it, and has given it back
		t.Fatal(err)
	}
	for line := range said {
		if strings.Contains(line, "a lock was lost") {
			break
		}
	}
	var locks int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM quoin.document_locks`).Scan(&locks); err != nil || locks != 0 {
		t.Errorf("%d locks (%v), want none", locks, err)
	}
}

// TestAWriteWaitsForATakeoverOnPostgres: who takes a lock over and who writes under it wait
// for each other, so that nothing is written after the takeover.
func TestAWriteWaitsForATakeoverOnPostgres(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, postgres.Options{})
	s := d.Documents("tests", "", documents.DirOptions{})
	held, unlock, err := s.Lock(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	thief, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = thief.Close(context.Background()) }()
	tx, err := thief.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `UPDATE quoin.document_locks SET holder = 'thief'`); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- s.Create(held, "a.json", nil, time.Time{}) }()
	for waits := false; !waits && len(wrote) == 0; {
		if err := d.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'quoin.document_locks'::regclass
			OR NOT granted AND locktype = 'transactionid')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; !errors.Is(err, documents.ErrLockLost) {
		t.Errorf("got %v, want ErrLockLost", err)
	}
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestAlteredDocumentsOnPostgres: a row that was altered, moved or written by others is no
// approval.
func TestAlteredDocumentsOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	d := open(t, url, postgres.Options{})
	s := d.Approvals()
	for name, alter := range map[string]string{
		"a byte":     `UPDATE quoin.documents SET content = set_byte(content, 60, get_byte(content, 60) # 1) WHERE name = $1 || '.ask'`,
		"emptied":    `UPDATE quoin.documents SET content = '' WHERE name = $1 || '.ask'`,
		"cut":        `UPDATE quoin.documents SET content = substr(content, 1, 50) WHERE name = $1 || '.ask'`,
		"very large": `UPDATE quoin.documents SET content = decode(repeat('00', 5000000), 'hex') WHERE name = $1 || '.ask'`,
		"another's":  `UPDATE quoin.documents d SET content = o.content FROM quoin.documents o WHERE d.name = $1 || '.ask' AND o.name LIKE '%.ask' AND o.name <> d.name`,
		"a decision that no host has made": `INSERT INTO quoin.documents (purpose, name, ext, content, attempt)
			VALUES ('approvals', $1 || '.done', '.done', convert_to('{"state":"allowed","decision":"allow-once"}', 'UTF8'), '')`,
	} {
		t.Run(name, func(t *testing.T) {
			paid(t, s)
			a := paid(t, s)
			if err := d.Exec(t.Context(), alter, a.ID); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), a.ID); !errors.Is(err, policy.ErrCorrupt) {
				t.Errorf("got %+v, %v, want ErrCorrupt", got, err)
			}
			list, err := s.List(t.Context())
			if err != nil {
				t.Error(err)
			}
			for _, listed := range list {
				if listed.ID == a.ID {
					t.Error("it is listed")
				}
			}
		})
	}
}

// TestSecretsOnPostgres: the database has no token in the clear, and no one can use the
// sign-ins without the key.
func TestSecretsOnPostgres(t *testing.T) {
	t.Parallel()
	d := open(t, database(t), postgres.Options{})
	docs, err := d.SignInDocuments()
	if err != nil {
		t.Fatal(err)
	}
	if err := docs.Replace(t.Context(), "a.grant", []byte("xyzzy"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	var found bool
	if err := d.QueryRow(t.Context(), `SELECT bool_or(position('xyzzy'::bytea IN content) > 0) FROM quoin.documents`).Scan(&found); err != nil || found {
		t.Errorf("the secret is in the clear: %v, %v", found, err)
	}
	if b, err := docs.Read(t.Context(), "a.grant"); err != nil || string(b) != "xyzzy" {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := d.SignIns(mcp.SignInOptions{}); err != nil {
		t.Error(err)
	}
}

// TestPluginStorageOnPostgres: hosts share a storage, nothing is lost among many, a log is
// rewritten, and what was altered is refused.
func TestPluginStorageOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	one, two := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	storage := func(d *postgres.DB) protocol.Storage {
		return d.PluginStorage("acme", func(err error) { t.Errorf("storage: %v", err) })
	}
	var all sync.WaitGroup
	const each = 20
	for _, s := range []protocol.Storage{storage(one), storage(two), storage(one), storage(two)} {
		all.Go(func() {
			for n := 0; n < each; {
				e, err := s.Get(t.Context(), "n")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Set(t.Context(), "n", append(e.Value, 'x'), &e.Revision)
				var own *protocol.Error
				switch {
				case err == nil:
					n++
				case !errors.As(err, &own) || own.Code != protocol.CodeStorageConflict:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	a, b := storage(one), storage(two)
	if e, err := a.Get(t.Context(), "n"); err != nil || string(e.Value) != strings.Repeat("x", 4*each) {
		t.Errorf("%d of %d changes are there, %v", len(e.Value), 4*each, err)
	}
	large := make([]byte, protocol.MaxStorageValue)
	for range 6 {
		if _, err := a.Set(t.Context(), "large", large, nil); err != nil {
			t.Fatal(err)
		}
	}
	var entries int
	if err := one.QueryRow(t.Context(), `SELECT count(*) FROM quoin.plugin_entries`).Scan(&entries); err != nil || entries > 10 {
		t.Errorf("%d entries, %v", entries, err)
	}
	for _, s := range []protocol.Storage{b, storage(two)} {
		if e, err := s.Get(t.Context(), "large"); err != nil || len(e.Value) != len(large) {
			t.Errorf("%d bytes, %v", len(e.Value), err)
		}
	}
	if e, err := one.PluginStorage("other", nil).Get(t.Context(), "large"); err != nil || e.Revision != 0 {
		t.Errorf("another plugin has %d bytes, %v", len(e.Value), err)
	}
	for name, alter := range map[string]string{
		"a byte":    `UPDATE quoin.plugin_entries SET entry = set_byte(entry, 40, get_byte(entry, 40) # 1) WHERE plugin = $1 AND n = 2`,
		"a gap":     `DELETE FROM quoin.plugin_entries WHERE plugin = $1 AND n = 2`,
		"too large": `UPDATE quoin.plugin_entries SET entry = decode(repeat('00', 2000000), 'hex') WHERE plugin = $1 AND n = 2`,
		"moved":     `UPDATE quoin.plugin_entries SET n = 4 WHERE plugin = $1 AND n = 3`,
	} {
		s := one.PluginStorage(name, nil)
		for _, key := range []string{"a", "b", "c"} {
			if _, err := s.Set(t.Context(), key, []byte("1"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Exec(t.Context(), alter, name); err != nil {
			t.Fatal(err)
		}
		heard := 0
		_, err := two.PluginStorage(name, func(error) { heard++ }).Get(t.Context(), "n")
		var own *protocol.Error
		if !errors.As(err, &own) || own.Code != protocol.CodeStorageFailed || heard != 1 {
			t.Errorf("%s: %v, and the host heard %d times", name, err, heard)
		}
	}
}

// TestPostgresALockIsOneHoldersUntilItsEnd, however long ago it was renewed.
func TestPostgresALockIsOneHoldersUntilItsEnd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	s := d.Documents("tests", "", documents.DirOptions{})
	for left, free := range map[string]bool{"1 minute": false, "5 seconds": false, "-1 second": true} {
		must(t, d.Exec(ctx, `INSERT INTO quoin.document_locks VALUES ('tests', $1::text, 'h', clock_timestamp() + $1::text::interval)`, left))
		if taken, err := postgres.TryLock(ctx, s, left); err != nil || taken != free {
			t.Errorf("of a lock that ends in %s: taken %v (%v), want %v", left, taken, err, free)
		}
	}
}
