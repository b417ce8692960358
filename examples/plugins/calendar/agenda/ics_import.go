package agenda

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	ics "github.com/arran4/golang-ical"
)

// maxICS is how long an iCalendar file may be, in bytes.
const maxICS = 1 << 20

// Imported says what an import did.
type Imported struct {
	Created   []int64 `json:"created" jsonschema:"ids of new events; 0 in a dry run"`
	Updated   []int64 `json:"updated" jsonschema:"ids of events that were there, under the same UID, and have changed"`
	Unchanged int     `json:"unchanged" jsonschema:"how many were there already, equal"`
	Notes     []Note  `json:"notes" jsonschema:"what could not be taken over, and why"`
}

// Note is something an import could not take over.
type Note struct {
	UID     string `json:"uid"`
	Title   string `json:"title"`
	Skipped bool   `json:"skipped" jsonschema:"true when the whole entry was left out"`
	Problem string `json:"problem"`
}

// Import adds the events of an iCalendar file, and replaces those that are
// there under the same UID; importing a file again changes nothing. Entries
// that cannot be represented are noted and left out, the others are taken. All
// of it happens in one step, or, with dryRun, not at all.
func (s *Store) Import(ctx context.Context, text string, dryRun bool) (Imported, error) {
	if len(text) > maxICS {
		return Imported{}, invalid("ics", "is longer than %d bytes; import it in parts", maxICS)
	}
	cal, err := ics.ParseCalendar(strings.NewReader(text))
	if err != nil {
		return Imported{}, &Error{Code: CodeInvalidICS, Message: fmt.Sprintf("This is not an iCalendar file: %v. Nothing was imported.", err)}
	}
	entries := cal.Events()
	switch {
	case len(cal.CalendarProperties)+len(cal.Components) == 0:
		return Imported{}, &Error{Code: CodeInvalidICS, Message: "This is not an iCalendar file: it has no content. Nothing was imported."}
	case len(entries) > maxEvents:
		return Imported{}, invalid("ics", "holds more than %d events; import it in parts", maxEvents)
	}
	out := Imported{Created: []int64{}, Updated: []int64{}, Notes: []Note{}}
	events := s.read(entries, &out)
	if dryRun {
		err = s.db.Read(ctx, func(tx *sql.Tx) error { return s.put(ctx, tx, events, &out, true) })
	} else {
		err = s.db.Write(ctx, func(tx *sql.Tx) error { return s.put(ctx, tx, events, &out, false) })
	}
	return out, err
}

// put compares the events with what is there and saves the differences.
func (s *Store) put(ctx context.Context, tx *sql.Tx, events []*record, out *Imported, dryRun bool) error {
	for _, r := range events {
		there, err := load(ctx, tx, "uid = ?", r.uid)
		if err != nil {
			return err
		}
		isNew := len(there) == 0
		if !isNew {
			r.id, r.version = there[0].id, there[0].version
			if reflect.DeepEqual(there[0].event(), r.event()) {
				out.Unchanged++
				continue
			}
		}
		if !dryRun {
			if err := s.save(ctx, tx, r); err != nil {
				return err
			}
		}
		if isNew {
			out.Created = append(out.Created, r.id)
		} else {
			out.Updated = append(out.Updated, r.id)
		}
	}
	return nil
}

// read turns entries into events; overrides of single members join the series
// of their UID.
func (s *Store) read(entries []*ics.VEvent, out *Imported) []*record {
	var events []*record
	byUID := map[string]*record{}
	note := func(e *ics.VEvent, skipped bool, err error) {
		out.Notes = append(out.Notes, Note{UID: e.Id(), Title: text(e, ics.ComponentPropertySummary), Skipped: skipped, Problem: err.Error()})
	}
	for _, e := range entries {
		if e.HasProperty(ics.ComponentPropertyRecurrenceId) {
			continue
		}
		r, problems, err := readEvent(e, s.zone)
		if err == nil && byUID[r.uid] != nil {
			err = fmt.Errorf("the file holds another event of this UID")
		}
		if err != nil {
			note(e, true, err)
			continue
		}
		for _, problem := range problems {
			note(e, false, problem)
		}
		events, byUID[r.uid] = append(events, r), r
	}
	for _, e := range entries {
		if !e.HasProperty(ics.ComponentPropertyRecurrenceId) {
			continue
		}
		if err := readOverride(e, byUID[e.Id()], s.zone); err != nil {
			note(e, true, err)
		}
	}
	return events
}
