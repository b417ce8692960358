package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// runBatch is what a batch has of one run.
type runBatch struct {
	run     string
	session []byte
	n       int64
	lines   []byte // sealed in the statement's place
	events  int32
	at      time.Time
}

// group makes one row for each run, in the order of runs, so that hosts do not wait for
// each other in a circle.
func (t *Trajectory) group(batch []queuedEvent) []*runBatch {
	byRun := make(map[string]*runBatch)
	var out []*runBatch
	for _, e := range batch {
		b := byRun[e.run]
		if b == nil {
			t.rows++
			b = &runBatch{run: e.run, session: t.sessionSum(e.session), n: t.rows, at: e.at}
			byRun[e.run] = b
			out = append(out, b)
		}
		b.lines = append(b.lines, e.line...)
		b.events++
	}
	for _, b := range out {
		b.lines = t.seal.Seal(rowName(b.run, t.writer, b.n), b.lines)
	}
	slices.SortFunc(out, func(a, b *runBatch) int { return strings.Compare(a.run, b.run) })
	return out
}

// rowName is what a row is sealed under. No id of a run has a slash.
func rowName(run, writer string, n int64) string { return fmt.Sprintf("%s/%s/%d", run, writer, n) }

// sessionSum finds the runs of a session, and does not tell the database who they belong to.
func (t *Trajectory) sessionSum(s codemode.Session) []byte {
	s.TurnID = ""
	b, err := json.Marshal(s)
	if err != nil {
		return nil // a struct of texts
	}
	return t.db.options.Key.Sum("sessions of trajectories", b)
}

// append appends a batch, however long the database is away: what comes until then waits, and
// is refused when too much waits. It reports false at the end.
func (t *Trajectory) append(batch []queuedEvent) bool {
	rows := t.group(batch)
	for failed := false; ; failed = true {
		sizes, err := t.insert(rows)
		t.mu.Lock()
		t.failure = err
		if err == nil {
			for run, size := range sizes {
				if r := t.runs[run]; r != nil {
					r.size = max(r.size, size)
				}
			}
			t.settled += uint64(len(batch))
			close(t.progress)
			t.progress = make(chan struct{})
		}
		t.mu.Unlock()
		if err == nil {
			return true
		}
		if !failed && t.ctx.Err() == nil {
			t.db.log.Warn("events of runs wait for the database", "error", err)
		}
		select {
		case <-t.ctx.Done():
			return false
		case <-time.After(t.db.options.eventTimes.retry):
		}
	}
}

// insert adds rows. A second attempt adds no row twice.
func (t *Trajectory) insert(rows []*runBatch) (sizes map[string]int64, err error) {
	const statement = `
		WITH added AS (
			INSERT INTO quoin.trajectory_events (run, writer, n, at, events, lines)
			SELECT run, $1, n, clock_timestamp() - age * interval '1 microsecond', events, lines
			FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::integer[], $6::bytea[]) AS row (run, n, age, events, lines)
			ON CONFLICT DO NOTHING
			RETURNING run, octet_length(lines) AS size
		)
		INSERT INTO quoin.trajectories AS t (run, session, bytes, last)
		SELECT run, session, size, clock_timestamp()
		FROM added JOIN unnest($2::text[], $7::bytea[]) AS row (run, session) USING (run) ORDER BY run
		ON CONFLICT (run) DO UPDATE SET bytes = t.bytes + excluded.bytes, last = excluded.last
		RETURNING run, bytes`
	var runs []string
	var numbers, ages []int64
	var events []int32
	var lines, sessions [][]byte
	for _, b := range rows {
		runs, numbers, events = append(runs, b.run), append(numbers, b.n), append(events, b.events)
		lines, sessions = append(lines, b.lines), append(sessions, b.session)
	}
	err = t.db.retry(t.ctx, func(ctx context.Context) error {
		ages, sizes = ages[:0], make(map[string]int64)
		for _, b := range rows {
			ages = append(ages, time.Since(b.at).Microseconds())
		}
		found, err := t.db.pool.Query(ctx, statement, t.writer, runs, numbers, ages, events, lines, sessions)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var run string
			var size int64
			if err := found.Scan(&run, &size); err != nil {
				return err
			}
			sizes[run] = size
		}
		return found.Err()
	})
	return sizes, err
}
