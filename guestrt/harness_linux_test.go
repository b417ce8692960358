package guestrt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/internal/hostile/hostileworker"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/wire"
)

// guestPath is the worker the tests use; empty means the test binary itself.
var guestPath string

// TestMain makes the test binary its own guest worker, a hostile worker, or the
// host of a test that kills it.
func TestMain(m *testing.M) {
	hostileworker.ServeIfHostile()
	guestserver.ServeIfWorker()
	if os.Getenv(hostVariable) != "" {
		beHost()
	}
	if _, ok := os.LookupEnv(earlyHostVariable); ok {
		beEarlyHost()
	}
	if os.Getenv(pausedHostVariable) != "" {
		bePausedHost()
	}
	if deny := os.Getenv(denyVariable); deny != "" {
		beConfined(deny)
	}
	if withCgo {
		var err error
		if guestPath, err = hosttest.Guest(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	hosttest.Main(m)
}

// newPool returns a pool that is closed at the end of the test, when none of
// its processes may be left.
func newPool(t testing.TB, c Config) *Pool {
	t.Helper()
	if c.GuestPath == "" && c.NativePath == "" {
		c.GuestPath = guestPath
	}
	p, err := NewPool(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		children := p.children()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for _, child := range children {
			select {
			case <-child.gone:
			default:
				t.Errorf("%v outlives its pool", child)
			}
		}
	})
	return p
}

func acquire(t testing.TB, p *Pool, session string) *Worker {
	t.Helper()
	w, err := p.Acquire(context.Background(), session, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func js(source string) wire.Cell { return wire.Cell{Language: "javascript", Source: source} }
func ts(source string) wire.Cell { return wire.Cell{Language: "typescript", Source: source} }

func in(d time.Duration) time.Time { return time.Now().Add(d) }

// plenty is a deadline no test means to reach.
const plenty = 20 * time.Second

// start starts a cell and fails the test if there is no report.
func start(t testing.TB, w *Worker, c wire.Cell, files FileFunc) *wire.Report {
	t.Helper()
	r, err := w.Start(context.Background(), c, files, in(plenty))
	if err != nil {
		t.Fatalf("%q: %v", c.Source, err)
	}
	return r
}

func turn(t testing.TB, w *Worker, s ...wire.Settlement) *wire.Report {
	t.Helper()
	r, err := w.Turn(context.Background(), s, in(plenty))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resolve(id uint64, v any) wire.Settlement {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return wire.Settlement{ID: id, OK: true, JSON: b}
}

func wantValue(t testing.TB, r *wire.Report, value string) {
	t.Helper()
	if r.Status != wire.StatusDone || string(r.Value) != value {
		t.Errorf("status %d, value %s, error %+v; want %s", r.Status, r.Value, r.Err, value)
	}
}

func wantEnding(t testing.TB, err error, code, reason string) {
	t.Helper()
	var e *WorkerError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an ending %s/%s", err, code, reason)
	}
	if e.Code != code || e.Reason != reason || e.Phase == "" || e.Message == "" {
		t.Errorf("ending %+v, want %s/%s", *e, code, reason)
	}
}

// virtual serves files from a map and counts what was asked.
func virtual(files map[string]string) FileFunc {
	return func(_ context.Context, path string) ([]byte, bool) {
		data, ok := files[path]
		return []byte(data), ok
	}
}

// lines collects what workers write to their logs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	n    int
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return l.text.Write(b)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) count() (int, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.text.String()
}
