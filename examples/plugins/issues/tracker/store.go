package tracker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// migrations grow the file from nothing to what this package expects. They are
// only ever appended to.
var migrations = []string{`
create table issues (
	id           integer primary key autoincrement,
	title        text    not null,
	body         text    not null,
	folded       text    not null, -- title and body in lower case, for the text filter
	state        text    not null check (state in ('open', 'closed')),
	close_reason text    not null,
	assignee     text    not null,
	author       text    not null,
	version      integer not null,
	created_at   integer not null, -- milliseconds since 1970
	updated_at   integer not null,
	closed_at    integer
) strict;
create index issues_updated  on issues (state, updated_at, id);
create index issues_assignee on issues (assignee);
create table labels (
	issue_id integer not null references issues (id) on delete cascade,
	label    text    not null,
	primary key (issue_id, label)
) strict, without rowid;
create index labels_label on labels (label, issue_id);
create table comments (
	id         integer primary key autoincrement,
	issue_id   integer not null references issues (id) on delete cascade,
	author     text    not null,
	body       text    not null,
	created_at integer not null
) strict;
create index comments_issue on comments (issue_id, id);
`}

// Store is the issues of one file.
type Store struct {
	db  *localdb.DB
	now func() time.Time
}

// OpenStore opens the file at path, creating it when it does not exist. A nil
// clock means time.Now. The caller closes the store.
func OpenStore(ctx context.Context, path string, clock func() time.Time) (*Store, error) {
	db, err := localdb.Open(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	if clock == nil {
		clock = time.Now
	}
	return &Store{db: db, now: clock}, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// columns is what scan expects, in its order.
const columns = `i.id, i.title, i.state, i.close_reason, i.assignee, i.author, i.version,
	i.created_at, i.updated_at, i.closed_at,
	(select count(*) from comments c where c.issue_id = i.id),
	coalesce((select group_concat(label, char(10)) from (select label from labels l where l.issue_id = i.id order by label)), '')`

func scan(row interface{ Scan(...any) error }, more ...any) (Issue, error) {
	var (
		i                Issue
		created, updated int64
		closed           sql.NullInt64
		labels           string
	)
	targets := []any{&i.ID, &i.Title, &i.State, &i.CloseReason, &i.Assignee, &i.Author, &i.Version, &created, &updated, &closed, &i.Comments, &labels}
	if err := row.Scan(append(targets, more...)...); err != nil {
		return i, err
	}
	i.CreatedAt, i.UpdatedAt = moment(created), moment(updated)
	if closed.Valid {
		at := moment(closed.Int64)
		i.ClosedAt = &at
	}
	i.Labels = []string{}
	if labels != "" {
		i.Labels = strings.Split(labels, "\n")
	}
	return i, nil
}

func moment(milli int64) time.Time { return time.UnixMilli(milli).UTC() }

// Get returns one issue with its body and comments, or not_found.
func (s *Store) Get(ctx context.Context, id int64) (Detail, error) {
	var d Detail
	err := s.db.Read(ctx, func(tx *sql.Tx) (err error) {
		if d.Issue, err = find(ctx, tx, id, &d.Body); err != nil {
			return err
		}
		d.Thread, err = thread(ctx, tx, id)
		return err
	})
	return d, err
}

// find reads one issue, and its body when asked for.
func find(ctx context.Context, tx *sql.Tx, id int64, body *string) (Issue, error) {
	var text string
	i, err := scan(tx.QueryRowContext(ctx, "select "+columns+", i.body from issues i where i.id = ?", id), &text)
	if errors.Is(err, sql.ErrNoRows) {
		return i, notFound(id)
	}
	if err != nil {
		return i, fmt.Errorf("read issue %d: %w", id, err)
	}
	if body != nil {
		*body = text
	}
	return i, nil
}

func thread(ctx context.Context, tx *sql.Tx, id int64) ([]Comment, error) {
	rows, err := tx.QueryContext(ctx, `select id, author, body, created_at from
		(select * from comments where issue_id = ? order by id desc limit ?) order by id`, id, maxComments)
	if err != nil {
		return nil, fmt.Errorf("read the comments of issue %d: %w", id, err)
	}
	defer rows.Close()
	out := []Comment{}
	for rows.Next() {
		c, at := Comment{IssueID: id}, int64(0)
		if err := rows.Scan(&c.ID, &c.Author, &c.Body, &at); err != nil {
			return nil, fmt.Errorf("read the comments of issue %d: %w", id, err)
		}
		c.CreatedAt = moment(at)
		out = append(out, c)
	}
	return out, rows.Err()
}
