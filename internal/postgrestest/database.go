package postgrestest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Variable is the environment variable that make test-postgres sets. Without it a test
// that needs a server is left out.
const Variable = "QUOIN_TEST_POSTGRES"

// shared is the server of all tests of the process that want no own one.
var shared = sync.OnceValues(func() (*Server, error) { return New(Options{}) })

var databases atomic.Int64

// Database returns the URL of an empty database, which is removed when the test ends.
// It skips the test where make test runs it, and fails where there is no server.
func Database(t testing.TB) string {
	t.Helper()
	Need(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.Database(t)
}

// filled is the name of the database that Filled copies.
const filled = "filled"

var (
	fillOnce sync.Once
	errFill  error
)

// Filled is Database for a copy of what fill has put into a database. The first test of the
// process has it filled; every other one gives the same fill.
func Filled(t testing.TB, fill func(url string) error) string {
	t.Helper()
	Need(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	fillOnce.Do(func() {
		if errFill = s.CreateDatabase(filled); errFill == nil {
			errFill = fill(s.URL(filled))
		}
	})
	if errFill != nil {
		t.Fatal(errFill)
	}
	return s.copied(t, filled)
}

// Start returns a server of the test's own, for one that stops or changes it. It is
// removed when the test ends. Start skips and fails as [Database] does.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	Need(t)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Database returns the URL of an empty database of the server, by its socket. The
// database is removed when the test ends, unless the server does not run by then.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.copied(t, "template1")
}

// copied is Database for a copy of a database of the server.
func (s *Server) copied(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	if err := s.createDatabase(name, from); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.PID(); err != nil {
			return
		}
		if err := s.DropDatabase(name); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

// Need skips a test that was not asked for, and fails one that cannot run. A
// benchmark is always asked for, and left out where there is no server.
func Need(t testing.TB) {
	t.Helper()
	if _, ok := t.(*testing.B); ok {
		if err := Missing(); err != nil {
			t.Skip(err)
		}
		return
	}
	top, _, _ := strings.Cut(t.Name(), "/")
	if !strings.Contains(top, "Postgres") {
		t.Fatalf("%s uses PostgreSQL: its name must contain Postgres, or make test-postgres does not run it", top)
	}
	if os.Getenv(Variable) == "" {
		t.Skip("needs PostgreSQL: make test-postgres runs it, or " + Variable + "=1")
	}
	if err := Missing(); err != nil {
		t.Fatal(err)
	}
}
