package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
)

func wantDue(t *testing.T, d *postgres.DB, want ...string) {
	t.Helper()
	wantDueOf(t, d, 10, want...)
}

func wantDueOf(t *testing.T, d *postgres.DB, limit int, want ...string) {
	t.Helper()
	got, err := d.Due(t.Context(), limit)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("due are %q (%v), want %q", got, err, want)
	}
}

// TestPostgresAnOrphanStaysDue: a host frees it after giving up a claim of it that has
// counted.
func TestPostgresAnOrphanStaysDue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, late := postgres.Delaying(slow)
	d := open(t, database(t), o)
	create(t, d, record("run")).Release()
	wantDueOf(t, d, 5)
	must(t, d.Exec(ctx, `UPDATE quoin.runs SET owner = 'host_gone'`))
	wantDueOf(t, d, 5, "run")
	late.Lose(postgres.ErrInjected, true)
	if _, err := d.Claim(ctx, "run"); !errors.Is(err, postgres.ErrInjected) {
		t.Fatalf("a claim whose answer was lost: %v", err)
	}
	d.ReleaseForgotten(ctx)
	wantDueOf(t, d, 5, "run")
	claimed(t, func() (func(), error) { return claimRun(d) })()
	wantDueOf(t, d, 5)
}

// TestPostgresRunsOfAHostThatIsGoneAreDue: what a host had in its hands when its lease ended
// is due at once; what it has released is due as it was.
func TestPostgresRunsOfAHostThatIsGoneAreDue(t *testing.T) {
	t.Parallel()
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

// TestPostgresDueReadsLittle: a poll reads about as many runs as it returns, however many
// are due, are at work, or were of hosts that are gone.
func TestPostgresDueReadsLittle(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, slow)
	create(t, d, record("run_held")) // which starts the lease
	const limit, many = 5, 4000
	for what, columns := range map[string]string{
		"due":     `NULL, now() - interval '1 minute' - n * interval '1 second'`,
		"at work": `(SELECT id FROM quoin.hosts), NULL`,
		"orphans": `'host_gone_' || n % 3, NULL`,
		"waiting": `NULL, NULL`,
	} {
		if err := d.Exec(ctx, `INSERT INTO quoin.runs (id, epoch, owner, timer_due, ended, generation, expires, header, image, image_sum, seal)
			SELECT $1 || ' ' || n, 1, `+columns+`, false, 1, now() + interval '1 hour', '', '', '', '' FROM generate_series(1, $2::int) n`, what, many); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Exec(ctx, `ANALYZE quoin.runs`); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan plan }
	if err := d.QueryRow(ctx, `EXPLAIN (ANALYZE, FORMAT JSON) `+strings.ReplaceAll(postgres.DueStatement, "$1", fmt.Sprint(limit))).Scan(&plans); err != nil {
		t.Fatal(err)
	}
	if read := plans[0].Plan.read(t, "runs"); read > 10*limit {
		t.Errorf("%d rows of runs are read for %d", read, limit)
	}
	ids, err := d.Due(ctx, limit)
	if err != nil || len(ids) != limit {
		t.Errorf("due are %q, %v", ids, err)
	}
	// Without orphans they are the oldest that are due.
	if err := d.Exec(ctx, `DELETE FROM quoin.runs WHERE owner LIKE 'host_gone_%'`); err != nil {
		t.Fatal(err)
	}
	wantDueOf(t, d, 3, "due 4000", "due 3999", "due 3998")
	if lag := d.Health(ctx).DueLag; lag < 4060*time.Second || lag > 5*time.Hour {
		t.Errorf("the oldest has been due for %v", lag)
	}
	if err := d.Exec(ctx, `UPDATE quoin.runs SET timer_due = NULL`); err != nil {
		t.Fatal(err)
	}
	wantDueOf(t, d, 3)
	if lag := d.Health(ctx).DueLag; lag != 0 {
		t.Errorf("nothing has been due for %v", lag)
	}
}

// plan is a node of a plan of PostgreSQL.
type plan struct {
	Relation string  `json:"Relation Name"`
	Type     string  `json:"Node Type"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Loops    float64 `json:"Actual Loops"`
	Plans    []plan
}

// read counts the rows of a table that a plan has read.
func (p plan) read(t *testing.T, table string) (rows int) {
	if p.Relation == table {
		rows = int((p.Rows + p.Removed) * p.Loops)
		t.Logf("%s of %s by %s: %d rows", p.Type, p.Relation, p.Index, rows)
	}
	for _, child := range p.Plans {
		rows += child.read(t, table)
	}
	return rows
}

// TestPostgresARunThatIsNotDueYetHasNoLag: it is due because its host is gone, and its timer
// has time.
func TestPostgresARunThatIsNotDueYetHasNoLag(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	must(t, d.Exec(ctx, `INSERT INTO quoin.runs (id, epoch, owner, timer_due, ended, generation, expires, header, image, image_sum, seal)
		VALUES ('orphan', 1, 'host_gone', now() + interval '1 hour', false, 1, now() + interval '2 hours', '', '', '', '')`))
	ids, err := d.Due(ctx, 5)
	if lag := d.Health(ctx).DueLag; err != nil || len(ids) != 1 || lag != 0 {
		t.Errorf("due %v, %v, for %s", ids, err, lag)
	}
}

// TestPostgresACheckpointAnswersOlderWakeUpsAlone: one that comes while the run is claimed
// is for who has it next.
func TestPostgresACheckpointAnswersOlderWakeUpsAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	create(t, d, record("run")).Release()
	for _, during := range []bool{false, true} {
		if !during {
			must(t, d.Wake(ctx, "run"))
		}
		c, err := d.Claim(ctx, "run")
		must(t, err)
		if during {
			must(t, d.Wake(ctx, "run"))
		}
		must(t, c.Checkpoint(ctx, record("run")))
		var woken bool
		must(t, d.QueryRow(ctx, `SELECT woken IS NOT NULL FROM quoin.runs`).Scan(&woken))
		if woken != during {
			t.Errorf("woken during the claim: %v; after a checkpoint: %v", during, woken)
		}
		c.Release()
	}
	wantDue(t, d, "run")
}
