package postgrestest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// query runs SQL as a client would, and returns what it says.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestPostgresDatabasesAreSeparate(t *testing.T) {
	t.Parallel()
	a, b := Database(t), Database(t)
	query(t, a, "CREATE TABLE one (n int)")
	query(t, b, "CREATE TABLE one (n int)")
}

func TestPostgresStopsAndStarts(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	url := s.Database(t)
	query(t, url, "CREATE TABLE kept (n int)")
	query(t, url, "INSERT INTO kept VALUES (7)")
	for _, mode := range []Mode{Fast, Immediate} {
		before, err := s.PID()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(mode); err != nil {
			t.Fatal(err)
		}
		after, err := s.PID()
		if err != nil {
			t.Fatal(err)
		}
		if got := query(t, url, "SELECT n FROM kept"); got != "7" || before == after {
			t.Errorf("after a stop that is %s: n = %q, process %d, then %d", mode, got, before, after)
		}
	}
}

func TestPostgresStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	if err := s.CreateDatabase("state"); err != nil {
		t.Fatal(err)
	}
	standby, err := s.Standby("second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Set("synchronous_standby_names", "second"); err != nil {
		t.Fatal(err)
	}
	// The server reads its file soon after it is told to.
	for query(t, s.URL("state"), "SHOW synchronous_standby_names") != "second" {
		time.Sleep(10 * time.Millisecond)
	}
	query(t, s.URL("state"), "CREATE TABLE kept AS SELECT 7 AS n")
	if err := s.Stop(Immediate); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	url := standby.NetworkURL(standby.Address(), "state")
	if got := query(t, url, "UPDATE kept SET n = n + 1 RETURNING n"); got != "8" {
		t.Errorf("n = %q", got)
	}
}

func TestPostgresStandbyFollowsAgain(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Settings: map[string]string{"min_wal_size": "32MB", "max_wal_size": "32MB"}})
	if err := s.CreateDatabase("state"); err != nil {
		t.Fatal(err)
	}
	standby, err := s.Standby("second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := standby.Stop(Fast); err != nil {
		t.Fatal(err)
	}
	query(t, s.URL("state"), "CREATE TABLE kept (n int)")
	for range 6 {
		query(t, s.URL("state"), "INSERT INTO kept VALUES (1)")
		query(t, s.URL("state"), "SELECT pg_switch_wal()")
		query(t, s.URL("state"), "CHECKPOINT")
	}
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	for query(t, s.URL("state"), "SELECT pg_current_wal_lsn()") != query(t, standby.URL("state"), "SELECT pg_last_wal_replay_lsn()") {
		if query(t, s.URL("state"), "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'second'") == "" {
			t.Fatal("the server keeps nothing for its standby")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := query(t, standby.URL("state"), "SELECT count(*) FROM kept"); got != "6" {
		t.Errorf("the standby has %s rows", got)
	}
}

func TestPostgresRefusesOtherPasswords(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	if err := s.CreateDatabase("state"); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(s.NetworkURL(s.Address(), "state"), s.password, "wrong", 1)
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "psql"), "-c", "SELECT 1", url).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "password authentication failed") {
		t.Errorf("%v: %s", err, out)
	}
}
