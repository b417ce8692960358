package agenda

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// migrations grow the file from nothing to what this package expects. They are
// only ever appended to.
var migrations = []string{`
create table events (
	id        integer primary key autoincrement,
	title     text    not null,
	location  text    not null,
	start     integer not null, -- seconds since 1970
	zone      text    not null, -- IANA name
	days      integer not null, -- how long it lasts: whole days, or seconds
	seconds   integer not null,
	rule      text    not null, -- RFC 5545, or empty
	cancelled text    not null, -- JSON array: starts of members of the series
	version   integer not null
) strict;
create index events_start on events (rule, start);
`}

// Store is the events of one file.
type Store struct {
	db   *localdb.DB
	zone *time.Location
}

// OpenStore opens the file at path, creating it when it does not exist. Times
// without a zone of their own are read in zone. The caller closes the store.
func OpenStore(ctx context.Context, path string, zone *time.Location) (*Store, error) {
	db, err := localdb.Open(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, zone: zone}, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// load reads the events that a condition on the table selects.
func load(ctx context.Context, tx *sql.Tx, where string, args ...any) ([]*record, error) {
	rows, err := tx.QueryContext(ctx, `select id, title, location, start, zone, days, seconds, rule, cancelled, version
		from events where `+where+` order by id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var out []*record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", r.id, err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func scan(rows *sql.Rows) (*record, error) {
	r := &record{}
	var start, seconds int64
	var zone, rule, cancelled string
	err := rows.Scan(&r.id, &r.title, &r.location, &start, &zone, &r.days, &seconds, &rule, &cancelled, &r.version)
	if err != nil {
		return r, err
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return r, err
	}
	r.start, r.length = time.Unix(start, 0).In(loc), time.Duration(seconds)*time.Second
	r.rule, err = readRule(rule, loc)
	return r, errors.Join(err, json.Unmarshal([]byte(cancelled), &r.cancelled))
}

// find reads one event or fails with not_found.
func find(ctx context.Context, tx *sql.Tx, id int64) (*record, error) {
	found, err := load(ctx, tx, "id = ?", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, notFound(id)
	}
	return found[0], nil
}

// candidates reads the events that may share time with w: all series that have
// started, and single events near enough.
func candidates(ctx context.Context, tx *sql.Tx, w window) ([]*record, error) {
	return load(ctx, tx, "start < ? and (rule <> '' or start > ?)", w.to.Unix(), w.from.Add(-maxDuration).Unix())
}

// save writes an event under its next version. An event without an id is added.
func save(ctx context.Context, tx *sql.Tx, r *record) error {
	r.version++
	cancelled, err := json.Marshal(append([]int64{}, r.cancelled...))
	if err != nil {
		return fmt.Errorf("save an event: %w", err)
	}
	var id any // null gets the next one
	if r.id != 0 {
		id = r.id
	}
	res, err := tx.ExecContext(ctx, `insert or replace into events (id, title, location, start, zone, days, seconds, rule, cancelled, version)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, r.title, r.location, r.start.Unix(), r.start.Location().String(), r.days,
		int64(r.length/time.Second), r.rule.text, string(cancelled), r.version)
	if err != nil {
		return fmt.Errorf("save an event: %w", err)
	}
	r.id, err = res.LastInsertId()
	return err
}
