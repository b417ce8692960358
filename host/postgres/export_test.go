package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// Quick returns o with a tenth of what hosts wait between one attempt, or look, and the next.
// Leases, and the patience with a database that other tests use too, are what they are.
func Quick(o Options) Options {
	if o.times != (times{}) {
		return o
	}
	t := defaultTimes
	o.times = hosttest.Tenth(t)
	o.times.connect, o.times.statement, o.times.retryFor, o.times.release = t.connect, t.statement, t.retryFor, t.release
	o.times.firstLook, o.times.recount, o.times.lockLease = t.firstLook, t.recount, t.lockLease
	e := defaultEventTimes
	o.eventTimes = hosttest.Tenth(e)
	o.eventTimes.close, o.eventTimes.waitRecorded = e.close, e.waitRecorded
	return o
}

// RenewingLocks returns o with locks that are renewed soon.
func RenewingLocks(o Options) Options {
	o = Quick(o)
	o.times.lockLease /= 100
	return o
}

// LookForRoom looks whether a disk that was full has room, as each renewal of the lease does.
func LookForRoom(ctx context.Context, d *DB) { d.lookForRoom(ctx) }

// Trips counts what a host sends over its connections for statements.
type Trips struct{ n atomic.Int64 }

// Take returns the number since the last call.
func (c *Trips) Take() int { return int(c.n.Swap(0)) }

// TraceQueryStart implements pgx.QueryTracer.
func (c *Trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *Trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (c *Trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *Trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (c *Trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TracePrepareStart implements pgx.PrepareTracer.
func (c *Trips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TracePrepareEnd implements pgx.PrepareTracer.
func (c *Trips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// Counting returns o with a counter of what the host sends.
func Counting(o Options) (Options, *Trips) {
	c := &Trips{}
	o.tracer = c
	return o, c
}

// Lapse has the lease be over by the clock of this process.
func (d *DB) Lapse() {
	d.lease.turn <- struct{}{}
	defer d.lease.turn.give()
	d.lease.until.Store(&time.Time{})
}

// Exec makes a statement as an operator would.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := d.pool.Exec(ctx, sql, args...)
	return err
}

// Bounded returns o with a bound on the bytes of a run that is read, in place of what hosts
// write at most.
func Bounded(o Options, bytes int64) Options {
	o.maxRun = bytes
	return o
}

// DueStatement is what Due asks.
var DueStatement = dueStatement

// Keeping returns o with a bound of its own of the results that are kept.
func Keeping(o Options, results int) Options {
	o.maxEnded = results
	return o
}

// Sweeping returns o with a bound of its own of the rows that one statement of a sweep deletes.
func Sweeping(o Options, rows int) Options {
	o.sweepRows = rows
	return o
}

// SweepingBytes returns o with a bound of its own of the bytes that one statement of a sweep
// deletes.
func SweepingBytes(o Options, bytes int64) Options {
	o.sweepBytes = bytes
	return o
}

// Listing returns o with a bound of its own of the items that are listed.
func Listing(o Options, items int) Options {
	o.maxItems = items
	return o
}

// ErrInjected is what a statement answers that a test has let fail.
var ErrInjected = errors.New("injected")

// Faults makes statements of a host fail.
type Faults struct {
	mu     sync.Mutex
	left   int
	after  error // of a statement that is made all the same; nil: it is not made
	failed bool
}

// Faulty returns o with statements that can fail.
func Faulty(o Options) (Options, *Faults) {
	f := &Faults{}
	o.fault = f.attempt
	return o, f
}

// Set has the nth statement from now fail: with after once it was made, or else before. The
// function that it returns ends that, and reports whether so many statements were made.
func (f *Faults) Set(n int, after error) (end func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after, f.failed = n, after, false
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.left = 0
		return f.failed
	}
}

func (f *Faults) attempt(ctx context.Context, do func(context.Context) error) error {
	f.mu.Lock()
	f.left--
	fails, after := f.left == 0, f.after
	f.failed = f.failed || fails
	f.mu.Unlock()
	if fails && after == nil {
		return ErrInjected
	}
	err := do(ctx)
	if fails && err == nil {
		err = after
	}
	return err
}

// QueryRow makes a query as an operator would.
func (d *DB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return d.pool.QueryRow(ctx, sql, args...)
}

// Documents returns the documents of a purpose. Other hosts are told of those with an
// extension.
func (d *DB) Documents(purpose, told string, o documents.DirOptions) documents.Store {
	s := d.documents(purpose, o)
	s.told = told
	return s
}

// SignInDocuments are what SignIns keeps sign-ins in.
func (d *DB) SignInDocuments() (documents.Store, error) {
	return d.state().Documents(statedocs.SignIns)
}

// Late keeps statements that a host gives up, as a network does that delivers what it was
// sent when it is asked for no more.
type Late struct {
	mu        sync.Mutex
	armed     error
	waits     bool
	statement func(context.Context) error
}

// Delaying returns o with statements that can come late.
func Delaying(o Options) (Options, *Late) {
	l := &Late{}
	o.fault = l.attempt
	return o, l
}

// Lose has the next statement fail with err. It is made when Arrive is called, and at once
// too if the answer alone is lost.
func (l *Late) Lose(err error, answerAlone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed, l.waits = err, !answerAlone
}

// Arrive makes the statement that was lost.
func (l *Late) Arrive(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statement(ctx)
}

func (l *Late) attempt(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	lost, waits := l.armed, l.waits
	if l.armed = nil; lost != nil {
		l.statement = do
	}
	l.mu.Unlock()
	switch {
	case lost == nil:
		return do(ctx)
	case waits:
		return lost
	}
	return errors.Join(do(ctx), lost)
}

// Attempting returns o with attempt, which makes the attempts of statements.
func Attempting(o Options, attempt func(ctx context.Context, do func(context.Context) error) error) Options {
	o.fault = attempt
	return o
}

// ReleaseForgotten frees runs as a host does after each renewal of its lease.
func (d *DB) ReleaseForgotten(ctx context.Context) {
	d.claims.releaseForgotten(ctx, d.gaps.Load(), false)
}

// FindForgotten looks for what the host owns unawares, as it does after some renewals.
func (d *DB) FindForgotten(ctx context.Context) error { return d.claims.findForgotten(ctx) }

// Forgotten returns how much the host knows that it owns unawares.
func (d *DB) Forgotten() int {
	d.claims.mu.Lock()
	defer d.claims.mu.Unlock()
	return len(d.claims.forgotten)
}

// Hint tells all hosts to look at something.
func (d *DB) Hint(kind, what string) { d.hints.tell(kind, what) }

// WatchHints returns the hints of one kind.
func (d *DB) WatchHints(ctx context.Context, kind string) <-chan string {
	return d.hints.watch(ctx, kind)
}

// Ahead has the clock of the database be ahead of this host's clock.
func (d *DB) Ahead(by time.Duration) {
	now := time.Now()
	d.clock.at.Store(&moment{here: now, wall: now.Round(0), ahead: by})
}

// Slept has the machine of the host have slept since it has compared the clocks, which are
// the same: its monotonic clock stood still.
func (d *DB) Slept(by time.Duration) {
	now := time.Now()
	d.clock.at.Store(&moment{here: now, wall: now.Round(0).Add(-by)})
}

// Renewals renews the lease of a host each time it is about to create a run, unless the host
// holds the lease.
type Renewals struct {
	d    atomic.Pointer[DB]
	mu   sync.Mutex
	made int // statements
	err  error
}

// RenewedAtEachCreate returns o with renewals, which do nothing before Start.
func RenewedAtEachCreate(o Options) (Options, *Renewals) {
	r := new(Renewals)
	o.tracer = r
	return o, r
}

// Start has the lease of d renewed.
func (r *Renewals) Start(d *DB) { r.d.Store(d) }

// Stop returns how often a statement that creates a run was made.
func (r *Renewals) Stop() (made int, err error) {
	r.d.Store(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made, r.err
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *Renewals) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	d := r.d.Load()
	if d == nil || data.SQL != createRun {
		return ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	select {
	case d.lease.turn <- struct{}{}:
		r.err = errors.Join(r.err, d.renewInTurn(ctx))
		d.lease.turn.give()
	default:
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*Renewals) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Fill has the journal of a run have room for so many bytes alone.
func Fill(c runstore.Claim, left int64) { c.(*claim).newest.Bytes = sealedrow.MaxJournal - left }

// TryLock takes a lock that is free.
func TryLock(ctx context.Context, s documents.Store, name string) (taken bool, err error) {
	return s.(*documentStore).tryLock(ctx, documentLock{name, "another"})
}
