package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/trajectory"
)

// expire fills a database with n of each that a sweep deletes, and one of each that it keeps.
func expire(t *testing.T, d *postgres.DB, n int) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal)
			SELECT 'run' || g, 1, g > $1::int + 1, 1, now() + (g % ($1 + 1) - $1) * interval '1 hour' + interval '1 minute', '', '', '', '' FROM generate_series(1, 2 * $1 + 2) g`,
		`INSERT INTO quoin.runs (id, epoch, owner, ended, gone, generation, expires, header, image, image_sum, seal)
			SELECT 'gone' || g, 1, 'host_gone', true, true, 1, '-infinity', '', '', '', '' FROM generate_series(1, $1::int) g`,
		`INSERT INTO quoin.journal SELECT 'run' || g, 1, '', '', '' FROM generate_series(1, $1::int + 1) g`,
		`INSERT INTO quoin.effects (run, epoch, created, expires, header, seal)
			SELECT 'run' || g, 1, now(), now() + (g - $1::int) * interval '1 hour' - interval '1 minute', '', '' FROM generate_series(1, $1 + 1) g`,
		`INSERT INTO quoin.effect_log SELECT 'run' || g, 1, '', '' FROM generate_series(1, $1::int + 1) g`,
		`INSERT INTO quoin.reserved SELECT 'run' || g, 'host_gone' FROM generate_series(1, $1::int) g`,
	} {
		must(t, d.Exec(t.Context(), sql, n))
	}
}

// kinds are what a sweep deletes.
var kinds = map[string]string{
	"suspended": `quoin.runs WHERE NOT ended`,
	"results":   `quoin.runs WHERE ended AND NOT gone`,
	"gone":      `quoin.runs WHERE gone`,
	"journal":   `quoin.journal`,
	"effects":   `quoin.effects`,
	"log":       `quoin.effect_log`,
	"reserved":  `quoin.reserved`,
}

func counts(t *testing.T, d *postgres.DB) map[string]int {
	t.Helper()
	got := map[string]int{}
	for kind, from := range kinds {
		var n int
		must(t, d.QueryRow(t.Context(), `SELECT count(*) FROM `+from).Scan(&n))
		got[kind] = n
	}
	return got
}

// swept is what is left after a sweep of what expire makes.
var swept = map[string]int{"suspended": 1, "results": 1, "gone": 0, "journal": 1, "effects": 1, "log": 1, "reserved": 0}

// TestPostgresSweepsInBatches: no statement deletes more than it may, and all that is over is gone.
func TestPostgresSweepsInBatches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Sweeping(slow, 2))
	const rows = 7
	expire(t, d, rows)
	deletions := countDeletions(t, d, "runs", "journal", "effects", "effect_log")
	left, err := d.Sweep(ctx, time.Now())
	must(t, err)
	if left != 1 {
		t.Errorf("%d runs are left, want 1", left)
	}
	if diff := cmp.Diff(swept, counts(t, d)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if largest, all := deletions(); largest != 2 || all != 6*rows {
		t.Errorf("a statement has deleted %d of %d rows, want 2 of %d", largest, all, 6*rows)
	}
}

// countDeletions has the database count what is deleted from these tables. The function says
// how many rows a statement has deleted at most, and all together.
func countDeletions(t *testing.T, d *postgres.DB, tables ...string) func() (largest, all int) {
	t.Helper()
	must(t, d.Exec(t.Context(), `CREATE TABLE deletions (number int)`))
	must(t, d.Exec(t.Context(), `CREATE FUNCTION deleted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO deletions SELECT count(*) FROM rows; RETURN NULL; END'`))
	for _, table := range tables {
		must(t, d.Exec(t.Context(), `CREATE TRIGGER deleted AFTER DELETE ON quoin.`+table+` REFERENCING OLD TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION deleted()`))
	}
	return func() (largest, all int) {
		must(t, d.QueryRow(t.Context(), `SELECT max(number), sum(number) FROM deletions`).Scan(&largest, &all))
		return largest, all
	}
}

// TestPostgresSweepsSoManyBytes: no statement deletes many large runs at once, and each deletes
// one at least.
func TestPostgresSweepsSoManyBytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]int{15: 2, 5: 1} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			d := open(t, database(t), postgres.SweepingBytes(slow, bytes))
			must(t, d.Exec(t.Context(), `
				INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal)
				SELECT 'run' || g, 1, false, 1, now() - interval '1 hour', '', '0123456789', '', '' FROM generate_series(1, 5) g`))
			deletions := countDeletions(t, d, "runs")
			_, err := d.Sweep(t.Context(), time.Now())
			must(t, err)
			if largest, all := deletions(); largest != want || all != 5 {
				t.Errorf("a statement has deleted %d of %d rows, want %d of 5", largest, all, want)
			}
		})
	}
}

// TestPostgresResultsMakeRoomInBatches: however many are too many.
func TestPostgresResultsMakeRoomInBatches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Sweeping(postgres.Keeping(slow, 2), 2))
	must(t, d.Exec(ctx, `
		INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal)
		SELECT 'run' || g, 1, true, 1, now() + g * interval '1 hour', '', '', '', '' FROM generate_series(1, 9) g`))
	_, err := d.Sweep(ctx, time.Now())
	must(t, err)
	var left []string
	must(t, d.QueryRow(ctx, `SELECT array_agg(id ORDER BY id) FROM quoin.runs`).Scan(&left))
	if diff := cmp.Diff([]string{"run8", "run9"}, left); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestPostgresASweepOutlastsAFailure: each step is made, whichever other has failed.
func TestPostgresASweepOutlastsAFailure(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o, faults := postgres.Faulty(slow)
	d := open(t, database(t), o)
	made := 0
	for n := 1; ; n++ {
		for _, table := range []string{"runs", "journal", "effects", "effect_log", "reserved"} {
			must(t, d.Exec(ctx, `TRUNCATE quoin.`+table))
		}
		expire(t, d, 1)
		end := faults.Set(n, nil)
		_, err := d.Sweep(ctx, time.Now())
		if !end() {
			must(t, err)
			break
		}
		made++
		if !errors.Is(err, postgres.ErrInjected) {
			t.Errorf("statement %d fails: got %v", n, err)
		}
		late := map[string]bool{}
		for kind, number := range counts(t, d) {
			if number > swept[kind] {
				late[kind] = true
			}
		}
		delete(late, "journal") // goes with its runs
		delete(late, "log")     // and this with the effects
		if len(late) > 1 {
			t.Errorf("statement %d fails: %v are left", n, late)
		}
	}
	if made < 6 {
		t.Errorf("%d statements, want one of each step", made)
	}
}

// TestPostgresTrajectoriesAreSweptInBatches: the oldest go first.
func TestPostgresTrajectoriesAreSweptInBatches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Sweeping(slow, 2))
	s := d.Trajectory(trajectory.DirOptions{MaxRuns: 3, MaxAge: time.Hour})
	must(t, s.Close())
	must(t, d.Exec(ctx, `INSERT INTO quoin.trajectories SELECT 'run' || g, '', 1, now() - g * interval '7 minutes' FROM generate_series(1, 12) g`))
	must(t, s.Sweep(ctx))
	var left []string
	must(t, d.QueryRow(ctx, `SELECT array_agg(run ORDER BY run) FROM quoin.trajectories`).Scan(&left))
	if want := "[run1 run2 run3]"; fmt.Sprint(left) != want {
		t.Errorf("%v are left, want %s", left, want)
	}
}
