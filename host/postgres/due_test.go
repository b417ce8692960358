package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
)

func wantDue(t *testing.T, d *postgres.DB, want ...string) {
	t.Helper()
	got, err := d.Due(t.Context(), 10)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("due are %q (%v), want %q", got, err, want)
	}
}

// TestPostgresRunsOfAHostThatIsGoneAreDue: what a host had in its hands when its lease ended
// is due at once; what it has released is due as it was.
func TestPostgresRunsOfAHostThatIsGoneAreDue(t *testing.T) {
	url := database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	rang := record("run_rang")
	rang.TimerDue = time.Now().Add(-time.Minute)
	create(t, a, rang).Release()
	create(t, a, record("run_quiet")).Release()
	for _, id := range []string{"run_held_1", "run_held_2"} {
		create(t, a, record(id))
	}
	wantDue(t, b, "run_rang")
	pause(t, a)
	wantDue(t, b, "run_held_1", "run_held_2", "run_rang")
	c, err := b.Claim(t.Context(), "run_held_1")
	if err != nil {
		t.Fatal(err)
	}
	wantDue(t, b, "run_held_2", "run_rang")
	c.Release()
	wantDue(t, b, "run_held_2", "run_rang")
}
