package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// sharedStore is where several hosts of a benchmark store their runs.
type sharedStore struct {
	name      string
	open      func(b *testing.B) runstore.Store // what one host has of it
	approvals func(b *testing.B, of runstore.Store) policy.Approvals
	// endLease lets other hosts have what a host holds, which is gone if that cannot be had otherwise.
	endLease func(b *testing.B, h *host.Host, of runstore.Store) (gone bool)
}

// sharedStores are a directory, and a database that waits for its disk, if there is
// a server on this machine.
func sharedStores(b *testing.B) []sharedStore {
	b.Helper()
	dir := b.TempDir()
	stores := []sharedStore{{
		"directory",
		func(b *testing.B) runstore.Store {
			b.Helper()
			d, err := runstore.OpenDir(filepath.Join(dir, "runs"))
			if err != nil {
				b.Fatal(err)
			}
			return d
		},
		func(b *testing.B, of runstore.Store) policy.Approvals {
			b.Helper()
			a, err := policy.OpenApprovals(filepath.Join(dir, "approvals"), of.(*runstore.Dir))
			if err != nil {
				b.Fatal(err)
			}
			return a
		},
		func(b *testing.B, h *host.Host, _ runstore.Store) bool {
			b.Helper()
			if err := h.Close(); err != nil {
				b.Fatal(err)
			}
			return true
		},
	}}
	if err := postgrestest.Missing(); err != nil {
		b.Log("left out: ", err)
		return stores
	}
	url := postgrestest.Start(b, postgrestest.Options{Durable: true}).Database(b)
	open, admin := openDatabase(b, url), connect(b, url)
	return append(stores, sharedStore{
		"PostgreSQL",
		func(b *testing.B) runstore.Store {
			b.Helper()
			return open(b, 0)
		},
		func(_ *testing.B, of runstore.Store) policy.Approvals { return of.(*postgres.DB).Approvals() },
		func(b *testing.B, _ *host.Host, of runstore.Store) bool {
			b.Helper()
			_, err := admin.Exec(context.Background(), `UPDATE quoin.hosts SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, of.(*postgres.DB).Host())
			if err != nil {
				b.Fatal(err)
			}
			return false
		},
	})
}

// connect opens a connection to a database.
func connect(b *testing.B, url string) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return conn
}

// newDatabase starts a server and returns what opens its database, with that many
// connections.
func newDatabase(b *testing.B) func(b *testing.B, conns int32) *postgres.DB {
	b.Helper()
	return openDatabase(b, postgrestest.Start(b, postgrestest.Options{Durable: true}).Database(b))
}

// openDatabase makes the tables of an empty database and returns what opens it.
func openDatabase(b *testing.B, url string) func(b *testing.B, conns int32) *postgres.DB {
	b.Helper()
	if _, _, err := postgres.Migrate(context.Background(), url); err != nil {
		b.Fatal(err)
	}
	key, err := runstore.NewKey(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	return func(b *testing.B, conns int32) *postgres.DB {
		b.Helper()
		db, err := postgres.Open(context.Background(), url, postgres.Options{Key: key, MaxConns: conns})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		})
		return db
	}
}

var nothing = catalog.Tool{
	Name: "nothing", Description: "Does nothing.",
	Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return nil, nil },
}

// BenchmarkStores suspends runs and resumes them on the same host and on another one.
func BenchmarkStores(b *testing.B) {
	for _, s := range sharedStores(b) {
		config := func(b *testing.B) host.Config {
			return host.Config{Store: s.open(b), Settings: manySuspended, Tools: []catalog.Tool{nothing}}
		}
		one, other := newHost(b, config(b)), newHost(b, config(b))
		suspend := execOf(one, yields)
		waitOn := func(h *host.Host, code string) func() (time.Duration, *host.Result) {
			return func() (time.Duration, *host.Result) {
				_, r := execOf(one, code)()
				start := time.Now()
				r = h.Wait(context.Background(), session, r.RunID)
				return time.Since(start), r
			}
		}
		for _, c := range []struct {
			name string
			op   func() (time.Duration, *host.Result)
			want codemode.Status
		}{
			{"exec to waiting", suspend, host.StatusWaiting},
			{"wait to completed", waitOn(one, yields), host.StatusCompleted},
			{"wait to completed on another host", waitOn(other, yields), host.StatusCompleted},
			{"5 calls of a resumed run", waitOn(one, "await yield_control(); "+fiveCalls), host.StatusCompleted},
		} {
			b.Run(s.name+"/"+c.name, func(b *testing.B) {
				measure(b, row{name: c.name + ", " + s.name, goal: "none"}, c.op, c.want)
			})
		}
	}
}

// BenchmarkHostsOnOneDatabase suspends cells and resumes them, on 1, 2 and 3 hosts at once.
func BenchmarkHostsOnOneDatabase(b *testing.B) {
	postgrestest.Need(b)
	open := newDatabase(b)
	for _, n := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var hosts []*host.Host
			for range n {
				hosts = append(hosts, newHost(b, host.Config{Store: open(b, 0), Settings: manySuspended, Guests: host.GuestConfig{Prepared: 4}}))
			}
			var failed atomic.Pointer[host.Result]
			cell := func(worker int) bool {
				h := hosts[worker%n]
				s := host.Session{SessionID: fmt.Sprint("session ", worker)}
				r := h.Exec(context.Background(), s, host.ExecInput{Code: yields})
				if r.Status == host.StatusWaiting {
					r = h.Wait(context.Background(), s, r.RunID)
				}
				if r.Status != host.StatusCompleted {
					failed.Store(r)
				}
				return r.Status == host.StatusCompleted
			}
			for i := range warmUp {
				cell(i % n)
			}
			perSecond := inParallel(b, 4*n, cell)
			if r := failed.Load(); r != nil {
				b.Fatalf("got %s %s", r.Status, r.Error)
			}
			table.add(&row{name: fmt.Sprintf("cells/s, each suspended once, hosts on one database: %d", n), goal: "none", value: fmt.Sprintf("%.0f", perSecond), n: b.N})
		})
	}
}

// BenchmarkDatabase asks a database for what hosts ask of it, without guests: for new runs
// and for checkpoints, while it has few runs and while it has many.
func BenchmarkDatabase(b *testing.B) {
	const writers = 16
	url := postgrestest.Start(b, postgrestest.Options{Durable: true}).Database(b)
	db := openDatabase(b, url)(b, writers)
	var last atomic.Int64
	create := func() (runstore.Claim, *runstore.Record, error) {
		r := &runstore.Record{
			ID: fmt.Sprint("run", last.Add(1)), Session: session, Image: make([]byte, 3000),
			Created: time.Now(), Expires: time.Now().Add(time.Hour),
		}
		c, err := db.Create(context.Background(), r, maxOfDatabase)
		return c, r, err
	}
	for _, stored := range []int{0, 100_000} {
		if stored > 0 {
			fill(b, url, stored)
		}
		for _, c := range []struct {
			name string
			op   func() error
		}{
			{"new runs/s", func() error {
				c, _, err := create()
				if err == nil {
					c.Release()
				}
				return err
			}},
			{"checkpoints/s", checkpoints(b, writers, create)},
		} {
			b.Run(fmt.Sprint(c.name, " with ", stored), func(b *testing.B) {
				var failed atomic.Pointer[error]
				perSecond := inParallel(b, writers, func(int) bool {
					err := c.op()
					if err != nil {
						failed.Store(&err)
					}
					return err == nil
				})
				if err := failed.Load(); err != nil {
					b.Fatal(*err)
				}
				table.add(&row{name: fmt.Sprintf("%s of one database that has %d, %d connections", c.name, stored, writers), goal: "none", value: fmt.Sprintf("%.0f", perSecond), n: b.N})
			})
		}
	}
}

// maxOfDatabase is how many suspended runs hosts allow.
const maxOfDatabase = 1_000_000

// checkpoints is an operation that writes one of some runs again.
func checkpoints(b *testing.B, n int, create func() (runstore.Claim, *runstore.Record, error)) func() error {
	b.Helper()
	type owned struct {
		claim  runstore.Claim
		record *runstore.Record
	}
	free := make(chan owned, n)
	for range n {
		c, r, err := create()
		if err != nil {
			b.Fatal(err)
		}
		free <- owned{c, r}
	}
	return func() error {
		o := <-free
		o.record.Generation++
		err := o.claim.Checkpoint(context.Background(), o.record)
		free <- o
		return err
	}
}

// fill adds suspended runs of no host, which cannot be read.
func fill(b *testing.B, url string, n int) {
	b.Helper()
	conn := connect(b, url)
	_, err := conn.Exec(context.Background(), `
		INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal)
		SELECT 'fill' || g, 1, false, 1, now() + interval '1 day', '\x00', '\x00', '\x00', '\x00' FROM generate_series(1, $1::int) g`, n)
	if err == nil {
		_, err = conn.Exec(context.Background(), `VACUUM ANALYZE quoin.runs`)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// inParallel does op b.N times in all, in that many goroutines, and returns how often a
// second. It stops when op returns false.
func inParallel(b *testing.B, workers int, op func(worker int) bool) float64 {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if !op(i) {
					left.Store(0)
				}
			}
		})
	}
	wg.Wait()
	perSecond := float64(b.N) / time.Since(start).Seconds()
	b.ReportMetric(perSecond, "1/s")
	return perSecond
}
