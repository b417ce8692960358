package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// querier reads: what was committed at one moment, or what a transaction sees.
type querier interface {
	// row reads one row, or answers sql.ErrNoRows.
	row(text string, args []any, into ...any) error
	// rows calls add with what scans each row.
	rows(text string, args []any, add func(scan func(...any) error) error) error
}

var (
	_ querier = (*tx)(nil)
	_ querier = (*snapshot)(nil)
)

// maxReaders bounds how many reads a process makes at a time, each with a connection of its own.
const maxReaders = 4

// readers are the connections that read. One that is not open yet is opened by its first read.
type readers struct {
	pool *sql.DB
	idle chan *reader // closed when all are
}

// reader is a connection with the statements that were prepared on it.
type reader struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newReaders(pool *sql.DB) *readers {
	r := &readers{pool: pool, idle: make(chan *reader, maxReaders)}
	for range maxReaders {
		r.idle <- &reader{}
	}
	return r
}

// close waits for the reads that are being made, and others fail.
func (r *readers) close() error {
	var errs []error
	for range maxReaders {
		errs = append(errs, (<-r.idle).close())
	}
	close(r.idle)
	return errors.Join(append(errs, r.pool.Close())...)
}

func (r *reader) close() error {
	var errs []error
	for _, s := range r.stmts {
		errs = append(errs, s.Close())
	}
	if r.conn != nil {
		errs = append(errs, r.conn.Close())
	}
	*r = reader{}
	return errors.Join(errs...)
}

// read reads what is there at one moment.
func (f *file) read(ctx context.Context, do func(querier) error) error {
	var r *reader
	select {
	case r = <-f.readers.idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r == nil {
		return errClosed
	}
	err := r.read(ctx, f.readers.pool, do)
	f.readers.idle <- r
	return explained(err)
}

func (r *reader) read(ctx context.Context, pool *sql.DB, do func(querier) error) (err error) {
	if r.conn == nil {
		if r.conn, err = pool.Conn(ctx); err != nil {
			return err
		}
		r.stmts = map[string]*sql.Stmt{}
	}
	s := &snapshot{ctx, r}
	if err = s.exec(`BEGIN`); err == nil {
		err = do(s)
	}
	s.ctx = context.WithoutCancel(ctx)
	if s.exec(`ROLLBACK`) != nil { // the next read takes another connection
		_ = r.close()
	}
	return err
}

// snapshot is what was committed at one moment.
type snapshot struct {
	ctx context.Context
	r   *reader
}

// statement prepares a text once for each connection.
func (s *snapshot) statement(text string) (*sql.Stmt, error) {
	if p := s.r.stmts[text]; p != nil {
		return p, nil
	}
	p, err := s.r.conn.PrepareContext(s.ctx, text)
	if err == nil {
		s.r.stmts[text] = p
	}
	return p, err
}

func (s *snapshot) exec(text string) error {
	p, err := s.statement(text)
	if err == nil {
		_, err = p.ExecContext(s.ctx)
	}
	return err
}

func (s *snapshot) row(text string, args []any, into ...any) error {
	p, err := s.statement(text)
	if err != nil {
		return err
	}
	return p.QueryRowContext(s.ctx, args...).Scan(into...)
}

func (s *snapshot) rows(text string, args []any, add func(scan func(...any) error) error) error {
	p, err := s.statement(text)
	if err != nil {
		return err
	}
	found, err := p.QueryContext(s.ctx, args...)
	if err != nil {
		return err
	}
	return each(found, add)
}

// isMissing reports whether a row is not there.
func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }
