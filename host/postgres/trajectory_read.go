package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/trajectory"
)

const (
	// maxRowBytes bounds one row that is read, and maxTrajectory all of a run.
	maxRowBytes   = 2 * maxBatch
	maxTrajectory = 64 << 20
	// maxListed bounds the runs that List returns.
	maxListed = 100
)

// eventRow is a row of quoin.trajectory_events. Lines is nil if it is too long.
type eventRow struct {
	Writer string
	N      int64
	Events int32
	Lines  []byte
}

// Read returns the trajectory of a run of that session, whichever host has recorded it:
// see trajectory.Dir.
func (t *Trajectory) Read(s codemode.Session, runID string) (*trajectory.Run, error) {
	r, err := t.Find(runID)
	if err != nil {
		return nil, err
	}
	if !s.Owns(r.Session) {
		return nil, trajectory.ErrWrongSession
	}
	return r, nil
}

// Find is Read without a check of the session, for callers that may see all runs.
func (t *Trajectory) Find(runID string) (*trajectory.Run, error) {
	if !sealedrow.IDs.MatchString(runID) {
		return nil, fmt.Errorf("%w: run id %.80q, expected letters, digits, '_' and '-'", trajectory.ErrUnknownRun, runID)
	}
	t.waitRecorded()
	rows, err := t.readRows(runID)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: %s", trajectory.ErrUnknownRun, runID)
	}
	return t.decodeTrajectory(runID, rows)
}

// readRows reads the rows of a run, the rows of one writer in its order.
func (t *Trajectory) readRows(runID string) (rows []eventRow, err error) {
	err = t.db.retry(t.db.ctx, func(ctx context.Context) error {
		found, err := t.db.pool.Query(ctx, `
			SELECT writer, n, events, CASE WHEN octet_length(lines) <= $2 THEN lines END FROM quoin.trajectory_events
			WHERE run = $1 ORDER BY max(at) OVER (PARTITION BY writer ORDER BY n), writer, n`, runID, maxRowBytes)
		if err != nil {
			return err
		}
		defer found.Close()
		rows = nil
		for size := 0; size <= maxTrajectory && found.Next(); {
			row, err := pgx.RowToStructByPos[eventRow](found)
			if err != nil {
				return err
			}
			rows = append(rows, row)
			size += len(row.Lines) + len(row.Writer) + 64 // of the row itself
		}
		return found.Err()
	})
	return rows, err
}

// List returns summaries of the newest runs of a session, the newest first, at most 100.
// Those that do not verify are left out.
func (t *Trajectory) List(s codemode.Session) ([]trajectory.Summary, error) {
	t.waitRecorded()
	var ids []string
	err := t.db.retry(t.db.ctx, func(ctx context.Context) error {
		rows, err := t.db.pool.Query(ctx, `SELECT run FROM quoin.trajectories WHERE session = $1 ORDER BY last DESC LIMIT $2`, t.sessionSum(s), maxListed)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	var out []trajectory.Summary
	for _, id := range ids {
		r, err := t.Read(s, id)
		switch {
		case err == nil:
			out = append(out, r.Summary())
		case !errors.Is(err, trajectory.ErrDamaged) && !errors.Is(err, trajectory.ErrUnknownRun) && !errors.Is(err, trajectory.ErrWrongSession):
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b trajectory.Summary) int { return b.Start.Compare(a.Start) })
	return out, nil
}

// waitRecorded waits until the events that this host has recorded are in the database. A
// reader sees what was recorded before it asked, unless the database is slow.
func (t *Trajectory) waitRecorded() {
	deadline := time.After(t.db.options.eventTimes.waitRecorded)
	t.mu.Lock()
	want := t.recorded
	t.mu.Unlock()
	for {
		t.mu.Lock()
		settled, progress := t.settled >= want, t.progress
		t.mu.Unlock()
		if settled {
			return
		}
		signal(t.now)
		select {
		case <-progress:
		case <-deadline:
			return
		case <-t.done:
			return
		}
	}
}

// decodeTrajectory verifies rows before anything in them is looked at. Those that do not
// verify are left out, and a Gap at the end counts their events.
func (t *Trajectory) decodeTrajectory(runID string, rows []eventRow) (*trajectory.Run, error) {
	var lines bytes.Buffer
	missed := 0
	for _, row := range rows {
		content, err := t.seal.Open(rowName(runID, row.Writer, row.N), row.Lines)
		if err != nil {
			missed += int(min(max(row.Events, 1), maxBatch)) // as many as the row says
			continue
		}
		lines.Write(content)
	}
	if missed > 0 {
		t.db.log.Warn("rows of a trajectory do not verify", "run", runID, "events", missed)
	}
	if lines.Len() == 0 {
		return nil, fmt.Errorf("%w: no row of it verifies", trajectory.ErrDamaged)
	}
	run, err := trajectory.Decode(&lines, runID)
	if err == nil && missed > 0 {
		run.Events = append(run.Events, gapOf(run.Events[len(run.Events)-1], missed))
	}
	return run, err
}
