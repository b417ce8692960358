package host_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresAway: while the database is gone or read-only, programs that end without
// waiting complete, those that would be suspended are refused and promised nothing, and a run
// from before resumes afterwards.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, postgrestest.Options{})
	url := s.Database(t)
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	secret := sha256.Sum256([]byte("the key of the hosts"))
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), url, postgres.Options{Key: key, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c := host.Config{Store: db, Tools: []catalog.Tool{echo("echo")}}
	c.Approvals.Store, c.Programs.Store = db.Approvals(), db.Programs()
	h := start(t, c)
	becomes := func(want runstore.HealthState) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			got := h.Health(t.Context()).Store
			if got != nil && (got.State == want || want == runstore.HealthOK && got.State.Works()) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the store is %+v, want %s", got, want)
			}
		}
	}
	refused := func(r *host.Result) {
		t.Helper()
		wantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
		if r.RunID != "" {
			t.Errorf("a run is promised: %s", r.RunID)
		}
		if strings.Contains(r.Error, "connect") || strings.Contains(r.Error, "/") {
			t.Errorf("the message tells of the database: %s", r.Error)
		}
	}
	becomes(runstore.HealthOK)
	before := wantWaiting(t, exec(h, `const x = (await tools.echo({x: 41})).x; await yield_control(); return x + 1`), codemode.ReasonYield)

	if err := s.Stop(postgrestest.Fast); err != nil {
		t.Fatal(err)
	}
	becomes(runstore.HealthGone)
	wantValue(t, exec(h, `return (await tools.echo({x: 7})).x`), "7")
	refused(exec(h, `await yield_control(); return 1`))
	r := h.Wait(t.Context(), me, before)
	wantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	becomes(runstore.HealthOK)

	if err := s.Set("default_transaction_read_only", "on"); err != nil {
		t.Fatal(err)
	}
	becomes(runstore.HealthReadOnly)
	wantValue(t, exec(h, `return (await tools.echo({x: 8})).x`), "8")
	refused(exec(h, `await yield_control(); return 1`))
	if err := s.Set("default_transaction_read_only", "off"); err != nil {
		t.Fatal(err)
	}
	becomes(runstore.HealthOK)
	wantValue(t, h.Wait(t.Context(), me, before), "42")
}
