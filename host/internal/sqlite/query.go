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

// snapshot is what was committed at one moment.
type snapshot struct {
	ctx context.Context
	f   *file
	t   *sql.Tx
}

// statement prepares a text once for all readers.
func (s *snapshot) statement(text string) (*sql.Stmt, error) {
	if p, ok := s.f.prepared.Load(text); ok {
		return s.t.StmtContext(s.ctx, p.(*sql.Stmt)), nil
	}
	p, err := s.f.readers.PrepareContext(s.ctx, text)
	if err != nil {
		return nil, err
	}
	if was, taken := s.f.prepared.LoadOrStore(text, p); taken {
		if err := p.Close(); err != nil {
			return nil, err
		}
		p = was.(*sql.Stmt)
	}
	return s.t.StmtContext(s.ctx, p), nil
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
