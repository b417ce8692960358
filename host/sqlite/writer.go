package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/runstore"
)

// Bounds of one transaction. A write that is larger has one of its own.
const (
	maxWrites     = 256
	maxWriteBytes = 8 << 20
)

// writer makes the writes of a process one transaction after the other. Writes that arrive
// while it commits share the next transaction, and one sync of the disk.
type writer struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text
	fault func(do func() error) error
	lazy  bool    // the connection does not wait for the disk
	pool  *sql.DB // closed with the connection

	health health
	queue  chan *write
	done   chan struct{} // closed when the queue was closed and is empty

	mu     sync.RWMutex // orders submit and close
	closed bool
}

// write is one write of a caller, who waits until it is done: do shares variables with it.
type write struct {
	do    func(*tx) error
	lazy  bool        // it may be lost with the machine
	bytes int         // about
	taken atomic.Bool // by the writer, or back by the caller
	err   error
	done  chan struct{}
}

// refusal is the error of a write that has changed nothing: the other writes of its transaction
// count.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// refuse marks err, unless it is nil, as a refusal.
func refuse(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err}
}

func newWriter(pool *sql.DB, conn *sql.Conn, fault func(func() error) error) *writer {
	w := &writer{pool: pool, conn: conn, stmts: map[string]*sql.Stmt{}, fault: fault, queue: make(chan *write, maxWrites), done: make(chan struct{})}
	go w.run()
	return w
}

// submit makes a write. If ctx ends before its turn has come, it is not made.
func (w *writer) submit(ctx context.Context, op *write) error {
	op.done = make(chan struct{})
	if err := w.enqueue(ctx, op); err != nil {
		return err
	}
	select {
	case <-op.done:
	case <-ctx.Done():
		if op.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		<-op.done
	}
	var refused refusal
	if errors.As(op.err, &refused) {
		return refused.error
	}
	return op.err
}

func (w *writer) enqueue(ctx context.Context, op *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- op:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close makes the writes that are queued, and takes no others.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.pool.Close())...)
}

func (w *writer) run() {
	defer close(w.done)
	var next *write
	for {
		first := next
		if next = nil; first == nil {
			var ok bool
			if first, ok = <-w.queue; !ok {
				return
			}
		}
		var batch []*write
		batch, next = w.gather(first)
		batch = slices.DeleteFunc(batch, func(op *write) bool { return !op.taken.CompareAndSwap(false, true) })
		w.commit(batch)
		for _, op := range batch {
			close(op.done)
		}
	}
}

// gather takes what waits, as far as it fits into one transaction with first. Next is the first
// write that did not fit.
func (w *writer) gather(first *write) (batch []*write, next *write) {
	batch, size := []*write{first}, first.bytes
	for len(batch) < maxWrites {
		select {
		case op, ok := <-w.queue:
			if !ok {
				return batch, nil
			}
			if size += op.bytes; size > maxWriteBytes {
				return batch, op
			}
			batch = append(batch, op)
		default:
			return batch, nil
		}
	}
	return batch, nil
}

// commit makes writes in one transaction. If that fails each has one of its own, so that it
// fails for itself alone.
func (w *writer) commit(batch []*write) {
	if len(batch) == 0 {
		return
	}
	err := w.transaction(batch)
	if err == nil {
		return
	}
	for _, op := range batch {
		if op.err = err; len(batch) > 1 && !isCode(err, codeBusy) {
			op.err = nil
			if err := w.transaction([]*write{op}); err != nil {
				op.err = err
			}
		}
		op.err = explained(op.err)
	}
}

// transaction makes writes in one transaction. With an error no write counts, unless the error
// is of the commit itself.
func (w *writer) transaction(batch []*write) (err error) {
	defer func() { w.health.observe(err) }()
	lazy := true
	for _, op := range batch {
		lazy = lazy && op.lazy
	}
	t := &tx{w}
	if err := t.setLazy(lazy); err != nil {
		return err
	}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return errors.Join(err, t.rollback())
	}
	for _, op := range batch {
		err := op.do(t)
		var refused refusal
		switch {
		case errors.As(err, &refused):
			op.err = err
		case err != nil:
			return errors.Join(err, t.rollback())
		}
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		return errors.Join(err, t.rollback())
	}
	return nil
}

// tx is the transaction of a writer, for one write at a time.
type tx struct{ w *writer }

// setLazy says whether the next transaction waits for the disk.
func (t *tx) setLazy(lazy bool) error {
	if lazy == t.w.lazy {
		return nil
	}
	level := map[bool]string{true: "OFF", false: "FULL"}[lazy]
	_, err := t.w.conn.ExecContext(context.Background(), `PRAGMA synchronous = `+level)
	if err == nil {
		t.w.lazy = lazy
	}
	return err
}

// rollback undoes a transaction. A commit that failed may have done so already.
func (t *tx) rollback() error {
	_, err := t.w.conn.ExecContext(context.Background(), `ROLLBACK`)
	if err != nil && !isCode(err, codeError) {
		return err
	}
	return nil
}

// statement prepares a text once. No statement has a context that ends: its transaction has
// writes of others.
func (t *tx) statement(text string) (*sql.Stmt, error) {
	if s := t.w.stmts[text]; s != nil {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runstore.ErrUnavailable, err)
	}
	t.w.stmts[text] = s
	return s, nil
}

// step makes a statement, which a test may have fail.
func (t *tx) step(text string, do func(*sql.Stmt) error) error {
	s, err := t.statement(text)
	switch {
	case err != nil:
		return err
	case t.w.fault != nil:
		return t.w.fault(func() error { return do(s) })
	}
	return do(s)
}

// exec makes a statement, and returns how many rows it has changed.
func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	err = t.step(text, func(s *sql.Stmt) error {
		res, err := s.Exec(args...)
		if err == nil {
			changed, err = res.RowsAffected()
		}
		return err
	})
	return changed, err
}

// row reads one row, or answers sql.ErrNoRows.
func (t *tx) row(text string, args []any, into ...any) error {
	return t.step(text, func(s *sql.Stmt) error { return s.QueryRow(args...).Scan(into...) })
}

// rows reads rows, and calls add with what reads each.
func (t *tx) rows(text string, args []any, add func(scan func(...any) error) error) error {
	return t.step(text, func(s *sql.Stmt) error {
		found, err := s.Query(args...)
		if err != nil {
			return err
		}
		return each(found, add)
	})
}

// each calls add with what scans each row, and closes them.
func each(found *sql.Rows, add func(scan func(...any) error) error) error {
	defer found.Close()
	for found.Next() {
		if err := add(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}
