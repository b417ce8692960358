package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/trajectory"
)

var alice, bob = codemode.Session{SessionID: "alice"}, codemode.Session{SessionID: "bob"}

// event is one of a run of alice.
func event(kind trajectory.Kind, run, call string) trajectory.Event {
	e := trajectory.Event{Kind: kind, RunID: run, CallID: call, Session: alice, Time: time.Now().UTC().Round(0)}
	switch kind {
	case trajectory.RunSuspended:
		e.Status = "waiting"
	case trajectory.RunEnded:
		e.Status = "completed"
	}
	return e
}

func recordAll(t *testing.T, s trajectory.Sink, events ...trajectory.Event) {
	t.Helper()
	for _, e := range events {
		if err := s.Record(e); err != nil {
			t.Fatal(err)
		}
	}
}

// trajectories returns what records and reads the trajectories of one host.
func trajectories(t *testing.T, d *postgres.DB, o trajectory.DirOptions) *postgres.Trajectory {
	t.Helper()
	s := d.Trajectory(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func find(t *testing.T, s *postgres.Trajectory, run string) *trajectory.Run {
	t.Helper()
	r, err := s.Find(run)
	if err != nil {
		t.Fatal(err)
	}
	if r.Torn != nil {
		t.Fatal(r.Torn)
	}
	return r
}

// TestPostgresTrajectoryOfTwoHosts: what two hosts have recorded of one run is one
// trajectory, on both, whatever their clocks say.
func TestPostgresTrajectoryOfTwoHosts(t *testing.T) {
	t.Parallel()
	url := database(t)
	a, b := trajectories(t, open(t, url, postgres.Options{}), trajectory.DirOptions{}), trajectories(t, open(t, url, postgres.Options{}), trajectory.DirOptions{})
	first := []trajectory.Event{event(trajectory.RunStarted, "run_1", ""), event(trajectory.CallStarted, "run_1", "c1"), event(trajectory.RunSuspended, "run_1", "")}
	recordAll(t, a, first...)
	find(t, a, "run_1") // so that they are in the database
	second := []trajectory.Event{event(trajectory.RunResumed, "run_1", ""), event(trajectory.CallEnded, "run_1", "c1"), event(trajectory.RunEnded, "run_1", "")}
	for i := range second {
		second[i].Time = second[i].Time.Add(-time.Hour) // by a clock that is late
	}
	recordAll(t, b, second...)
	for _, s := range []*postgres.Trajectory{b, a} {
		if diff := cmp.Diff(append(first[:3:3], second...), find(t, s, "run_1").Events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if _, err := s.Read(bob, "run_1"); !errors.Is(err, trajectory.ErrWrongSession) {
			t.Errorf("read by another session: %v", err)
		}
		for _, id := range []string{"run_2", "../run_1", "a\x00"} {
			if _, err := s.Read(alice, id); !errors.Is(err, trajectory.ErrUnknownRun) {
				t.Errorf("%q: %v", id, err)
			}
		}
		if list, err := s.List(codemode.Session{SessionID: "alice", TurnID: "a later one"}); err != nil || len(list) != 1 || list[0].Status != "completed" || list[0].Calls != 1 {
			t.Errorf("list: %+v, %v", list, err)
		}
		if list, err := s.List(bob); err != nil || len(list) != 0 {
			t.Errorf("list of another session: %+v, %v", list, err)
		}
	}
}

// TestPostgresTrajectoryAltered: rows that do not verify are left out, and their events
// counted as missing.
func TestPostgresTrajectoryAltered(t *testing.T) {
	t.Parallel()
	d := open(t, database(t), postgres.Options{})
	s := trajectories(t, d, trajectory.DirOptions{})
	for _, run := range []string{"run_1", "run_2"} {
		recordAll(t, s, event(trajectory.RunStarted, run, ""))
		find(t, s, run) // a row of its own
		recordAll(t, s, event(trajectory.CallStarted, run, "c1"), event(trajectory.CallEnded, run, "c1"))
		find(t, s, run)
		recordAll(t, s, event(trajectory.RunEnded, run, ""))
		find(t, s, run)
	}
	for what, statement := range map[string]string{
		"altered": `UPDATE quoin.trajectory_events SET lines = set_byte(lines, 50, get_byte(lines, 50) # 1) WHERE run = 'run_1' AND events = 2`,
		"moved":   `UPDATE quoin.trajectory_events e SET lines = o.lines FROM quoin.trajectory_events o WHERE e.run = 'run_1' AND e.events = 2 AND o.run = 'run_2' AND o.events = 2`,
		"emptied": `UPDATE quoin.trajectory_events SET lines = '' WHERE run = 'run_1' AND events = 2`,
		"huge":    `UPDATE quoin.trajectory_events SET lines = convert_to(repeat('x', 3000000), 'UTF8') WHERE run = 'run_1' AND events = 2`,
	} {
		if err := d.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		r := find(t, s, "run_1")
		if sum := r.Summary(); sum.Missed != 2 || sum.Calls != 0 || sum.Status != "completed" {
			t.Errorf("%s: %+v", what, sum)
		}
		var tree strings.Builder
		if err := r.WriteTree(&tree); err != nil || !strings.Contains(tree.String(), "2 events are missing here") {
			t.Errorf("%s: %v\n%s", what, err, tree.String())
		}
	}
	if err := d.Exec(t.Context(), `UPDATE quoin.trajectory_events SET lines = 'x', events = -5 WHERE run = 'run_1'`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("run_1"); !errors.Is(err, trajectory.ErrDamaged) {
		t.Errorf("no row verifies: %v", err)
	}
	if list, err := s.List(alice); err != nil || len(list) != 1 || list[0].RunID != "run_2" {
		t.Errorf("list: %+v, %v", list, err)
	}
}

// TestPostgresTrajectoryLostAnswer: a batch is appended once if its answer was lost.
func TestPostgresTrajectoryLostAnswer(t *testing.T) {
	t.Parallel()
	o, faults := postgres.Faulty(postgres.Options{})
	s := trajectories(t, open(t, database(t), o), trajectory.DirOptions{})
	for name, after := range map[string]error{"before": nil, "after": postgres.ErrInjected, "cut": io.ErrUnexpectedEOF} {
		run := "run_" + name
		end := faults.Set(1, after)
		recordAll(t, s, event(trajectory.RunStarted, run, ""), event(trajectory.RunEnded, run, ""))
		if r := find(t, s, run); len(r.Events) != 2 || !end() {
			t.Errorf("%s: %d events", name, len(r.Events))
		}
	}
}

// locked keeps every host from appending, until the function is called.
func locked(t *testing.T, url string) (unlock func()) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `BEGIN; LOCK TABLE quoin.trajectory_events IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestPostgresTrajectoryIsOffThePathOfCalls: a database that does not answer stops no
// call. What does not fit into the queue is refused, and the trajectory counts it.
func TestPostgresTrajectoryIsOffThePathOfCalls(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := trajectories(t, open(t, url, postgres.Options{}), trajectory.DirOptions{MaxFileBytes: 64 << 20})
	unlock := locked(t, url)
	recordAll(t, s, event(trajectory.RunStarted, "run_1", ""))
	body, err := json.Marshal(strings.Repeat("x", 200<<10))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 120 {
		e := event(trajectory.CallEnded, "run_1", fmt.Sprint(i))
		e.Input = body
		if s.Record(e) != nil {
			refused++
		}
	}
	e := event(trajectory.RunEnded, "run_1", "")
	e.Output = body
	if s.Record(e) != nil {
		refused++
	}
	unlock()
	if refused < 10 || refused > 100 {
		t.Errorf("%d events of 24 MB are refused", refused)
	}
	for end := time.Now().Add(time.Minute); ; { // each look waits for the queue; the gap is written once it is empty
		r := find(t, s, "run_1")
		missed := r.Summary().Missed
		if missed == refused {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("missing: %d events, refused were %d; the last is %s", missed, refused, r.Events[len(r.Events)-1].Kind)
		}
	}
}

// TestPostgresTrajectoryAtTheEnd: events that the database has not taken when it is
// closed are counted.
func TestPostgresTrajectoryAtTheEnd(t *testing.T) {
	t.Parallel()
	url := database(t)
	unlock := locked(t, url)
	defer unlock()
	d, err := postgres.Open(t.Context(), url, postgres.Options{Key: key(t, "the key")})
	if err != nil {
		t.Fatal(err)
	}
	s := d.Trajectory(trajectory.DirOptions{})
	recordAll(t, s, event(trajectory.RunStarted, "run_1", ""), event(trajectory.RunEnded, "run_1", ""))
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "2 events of runs were not recorded") {
		t.Errorf("at the end: %v", err)
	}
	if err := s.Record(event(trajectory.RunStarted, "run_2", "")); err == nil {
		t.Error("an event that comes after the end is taken")
	}
}

// TestPostgresTrajectoryIsBounded: a run that is too long still records how it ended, on
// any host, and old runs make room for new ones.
func TestPostgresTrajectoryIsBounded(t *testing.T) {
	t.Parallel()
	url := database(t)
	o := trajectory.DirOptions{MaxFileBytes: 4 << 10, MaxRuns: 2, MaxAge: time.Hour}
	d := open(t, url, postgres.Options{})
	a, b := trajectories(t, d, o), trajectories(t, open(t, url, postgres.Options{}), o)
	recordAll(t, a, event(trajectory.RunStarted, "run_1", ""))
	for i := range 100 {
		recordAll(t, a, event(trajectory.CallEnded, "run_1", fmt.Sprint(i)))
	}
	recordAll(t, a, event(trajectory.RunSuspended, "run_1", ""))
	find(t, a, "run_1")
	recordAll(t, b, event(trajectory.RunResumed, "run_1", ""))
	find(t, b, "run_1") // b learns how long it is
	recordAll(t, b, event(trajectory.CallEnded, "run_1", "100"), event(trajectory.RunEnded, "run_1", ""))
	r := find(t, b, "run_1")
	if sum := r.Summary(); sum.Status != "completed" || sum.Calls+sum.Missed != 101 || sum.Calls > 40 {
		t.Errorf("%+v", sum)
	}

	for _, run := range []string{"run_2", "run_3", "run_4"} {
		recordAll(t, a, event(trajectory.RunStarted, run, ""), event(trajectory.RunEnded, run, ""))
		find(t, a, run)
	}
	if err := d.Exec(t.Context(), `UPDATE quoin.trajectories SET last = last - interval '2 hours' WHERE run = 'run_3'`); err != nil {
		t.Fatal(err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var runs, left string
	if err := d.QueryRow(t.Context(), `SELECT string_agg(run, ' ' ORDER BY run) FROM quoin.trajectories`).Scan(&runs); err != nil {
		t.Fatal(err)
	}
	if err := d.QueryRow(t.Context(), `SELECT string_agg(DISTINCT run, ' ' ORDER BY run) FROM quoin.trajectory_events`).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if runs != "run_2 run_4" || left != runs {
		t.Errorf("left are %q and events of %q", runs, left)
	}
}
