package desk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// Statuses are the stations of a story, in order.
var Statuses = []string{"pitch", "draft", "edit", "proof", "published"}

// The codes of an [Error].
const (
	CodeNotFound     = "not_found"
	CodeInvalidField = "invalid_field"
)

// Error is a refusal that the caller can act on.
type Error struct {
	Code    string
	Message string         // one or two sentences for a person or a model
	Details map[string]any // JSON-safe facts
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Desk is the stories and invoices of one file.
type Desk struct {
	db    *localdb.DB
	today func() string // a date
}

// Open opens the file at path, creating and filling it when it does not exist.
// Dates are reckoned from today; an empty one means the real date, in UTC. The
// caller closes the desk.
func Open(ctx context.Context, path, today string) (*Desk, error) {
	reckon := func() string { return time.Now().UTC().Format(time.DateOnly) }
	if today != "" {
		if _, err := time.Parse(time.DateOnly, today); err != nil {
			return nil, fmt.Errorf("today must be a date such as 2026-03-02, not %q", today)
		}
		reckon = func() string { return today }
	}
	db, err := localdb.Open(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	return &Desk{db: db, today: reckon}, nil
}

// Close closes the file.
func (d *Desk) Close() error { return d.db.Close() }

// story is one row, with what is owed for it.
type story struct {
	id, title, author, editor, status, due string
	words, target                          int
	overdue                                int // unpaid invoices past their date
}

const selectStories = `select s.id, s.title, s.author, s.editor, s.status, s.due, s.words, s.target,
	(select count(*) from invoices i where i.story = s.id and i.paid = '' and i.due < ?) from stories s`

func readStory(row interface{ Scan(...any) error }) (s story, err error) {
	err = row.Scan(&s.id, &s.title, &s.author, &s.editor, &s.status, &s.due, &s.words, &s.target, &s.overdue)
	return s, err
}

func (d *Desk) stories(ctx context.Context, tx *sql.Tx) ([]story, error) {
	rows, err := tx.QueryContext(ctx, selectStories+" order by s.due, s.id", d.today())
	if err != nil {
		return nil, fmt.Errorf("read stories: %w", err)
	}
	defer rows.Close()
	var out []story
	for rows.Next() {
		s, err := readStory(rows)
		if err != nil {
			return nil, fmt.Errorf("read stories: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// find reads one story; the error for a wrong id names the right ones.
func (d *Desk) find(ctx context.Context, tx *sql.Tx, id string) (story, error) {
	s, err := readStory(tx.QueryRowContext(ctx, selectStories+" where s.id = ?", d.today(), id))
	if !errors.Is(err, sql.ErrNoRows) {
		return s, err
	}
	all, err := d.stories(ctx, tx)
	if err != nil {
		return s, err
	}
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = one.id
	}
	slices.Sort(ids)
	return s, &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("There is no story %q; there are %s.", id, strings.Join(ids, ", ")),
		Details: map[string]any{"ids": ids},
	}
}
