package agenda

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// migrations grow the file from nothing to what this package expects. They are
// only ever appended to.
var migrations = []string{`
create table events (
	id          integer primary key autoincrement,
	uid         text    not null unique,
	title       text    not null,
	description text    not null,
	location    text    not null,
	attendees   text    not null, -- JSON array
	all_day     integer not null,
	start       text    not null, -- local: 2026-03-02T09:00:00, or 2026-03-02 when all-day
	seconds     integer not null, -- duration
	zone        text    not null, -- IANA name
	rule        text    not null, -- RFC 5545 with UNTIL in local time, or empty
	transparent integer not null,
	version     integer not null,
	updated_at  integer not null  -- seconds since 1970
) strict;
create index events_start on events (rule, start);
create table exceptions (
	event_id   integer not null references events (id) on delete cascade,
	occurrence text    not null, -- key of the member
	cancelled  integer not null,
	start      text    not null, -- local; where it was moved to
	seconds    integer not null,
	title      text    not null,
	location   text    not null,
	primary key (event_id, occurrence)
) strict, without rowid;
`}

// Store is the events of one file.
type Store struct {
	db   *localdb.DB
	zone *time.Location
	now  func() time.Time
}

// OpenStore opens the file at path, creating it when it does not exist. Times
// without a zone of their own are read in zone. A nil clock means time.Now.
// The caller closes the store.
func OpenStore(ctx context.Context, path string, zone *time.Location, clock func() time.Time) (*Store, error) {
	db, err := localdb.Open(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	if clock == nil {
		clock = time.Now
	}
	return &Store{db: db, zone: zone, now: clock}, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

const columns = "id, uid, title, description, location, attendees, all_day, start, seconds, zone, rule, transparent, version"

// load reads the events that a condition on the table selects, with their
// exceptions.
func load(ctx context.Context, tx *sql.Tx, where string, args ...any) ([]*record, error) {
	rows, err := tx.QueryContext(ctx, "select "+columns+" from events where "+where+" order by id", args...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var out []*record
	byID := map[int64]*record{}
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		out = append(out, r)
		byID[r.id] = r
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out, loadExceptions(ctx, tx, byID, where, args)
}

func scan(rows *sql.Rows) (*record, error) {
	r := &record{exceptions: map[Wall]exception{}}
	var who, start, zone, rule string
	var seconds int64
	err := rows.Scan(&r.id, &r.uid, &r.title, &r.description, &r.location, &who, &r.span.AllDay, &start, &seconds, &zone, &rule, &r.transparent, &r.version)
	if err != nil {
		return nil, err
	}
	var errs [4]error
	errs[0] = json.Unmarshal([]byte(who), &r.attendees)
	r.span.Start, _, errs[1] = ParseWall(start)
	r.zone, errs[2] = time.LoadLocation(zone)
	if r.zone == nil {
		return nil, fmt.Errorf("event %d: %w", r.id, errs[2])
	}
	r.rule, errs[3] = ParseRule(rule, r.zone)
	r.span.Duration = time.Duration(seconds) * time.Second
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("event %d: %w", r.id, err)
	}
	return r, nil
}

func loadExceptions(ctx context.Context, tx *sql.Tx, events map[int64]*record, where string, args []any) error {
	rows, err := tx.QueryContext(ctx, `select event_id, occurrence, cancelled, start, seconds, title, location
		from exceptions where event_id in (select id from events where `+where+")", args...)
	if err != nil {
		return fmt.Errorf("read exceptions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, seconds int64
		var key, start string
		var x exception
		if err := rows.Scan(&id, &key, &x.cancelled, &start, &seconds, &x.title, &x.location); err != nil {
			return fmt.Errorf("read exceptions: %w", err)
		}
		occurrence, _, err := ParseWall(key)
		if err != nil {
			return fmt.Errorf("exception of event %d: %w", id, err)
		}
		if x.span.Start, x.span.AllDay, err = ParseWall(start); err != nil {
			return fmt.Errorf("exception of event %d: %w", id, err)
		}
		x.span.Duration = time.Duration(seconds) * time.Second
		events[id].exceptions[occurrence] = x
	}
	return rows.Err()
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
// started, and single events near enough. Local times differ from UTC by less
// than the slack.
func candidates(ctx context.Context, tx *sql.Tx, w Window) ([]*record, error) {
	from := w.From.UTC().Add(-clockSlack - maxDuration).Format(wallLayout)
	to := w.To.UTC().Add(clockSlack).Format(wallLayout)
	return load(ctx, tx, `start < ? and (rule <> '' or start > ?)
		or id in (select event_id from exceptions where start < ? and start > ?)`, to, from, to, from)
}

// save writes an event under its next version, and its exceptions. An event
// without an id is added.
func (s *Store) save(ctx context.Context, tx *sql.Tx, r *record) error {
	r.version++
	who, err := json.Marshal(r.attendees)
	if err != nil {
		return fmt.Errorf("save an event: %w", err)
	}
	values := []any{r.uid, r.title, r.description, r.location, string(who), r.span.AllDay, r.span.Start.Key(r.span.AllDay),
		int64(r.span.Duration / time.Second), r.zone.String(), r.rule.String(), r.transparent, r.version, s.now().Unix()}
	const fields = "uid, title, description, location, attendees, all_day, start, seconds, zone, rule, transparent, version, updated_at"
	if r.id == 0 {
		marks := strings.Repeat(", ?", len(values))[2:]
		res, err := tx.ExecContext(ctx, "insert into events ("+fields+") values ("+marks+")", values...)
		if err != nil {
			return fmt.Errorf("add an event: %w", err)
		}
		if r.id, err = res.LastInsertId(); err != nil {
			return fmt.Errorf("add an event: %w", err)
		}
	} else {
		set := strings.ReplaceAll(fields, ",", " = ?,") + " = ?"
		if _, err := tx.ExecContext(ctx, "update events set "+set+" where id = ?", append(values, r.id)...); err != nil {
			return fmt.Errorf("save event %d: %w", r.id, err)
		}
	}
	return saveExceptions(ctx, tx, r)
}

func saveExceptions(ctx context.Context, tx *sql.Tx, r *record) error {
	if _, err := tx.ExecContext(ctx, "delete from exceptions where event_id = ?", r.id); err != nil {
		return fmt.Errorf("save event %d: %w", r.id, err)
	}
	for _, key := range r.exceptionKeys() {
		x := r.exceptions[key]
		if x.cancelled {
			x.span = Span{key, r.span.Duration, r.span.AllDay}
		}
		_, err := tx.ExecContext(ctx, `insert into exceptions (event_id, occurrence, cancelled, start, seconds, title, location)
			values (?, ?, ?, ?, ?, ?, ?)`, r.id, key.Key(r.span.AllDay), x.cancelled, x.span.Start.Key(x.span.AllDay),
			int64(x.span.Duration/time.Second), x.title, x.location)
		if err != nil {
			return fmt.Errorf("save event %d: %w", r.id, err)
		}
	}
	return nil
}
