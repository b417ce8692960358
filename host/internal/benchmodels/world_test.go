package benchmodels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// document is one record of a database, as JSON has it.
type document = map[string]any

// database has the documents of a domain by table and id.
type database map[string]map[string]document

// clone returns a database with the same documents. A tool that changes a document puts
// a new one in its place.
func (db database) clone() database {
	other := database{}
	for table, documents := range db {
		other[table] = maps.Clone(documents)
	}
	return other
}

// changes are the documents that a database has and its original has not, as text.
func (db database) changes(t testing.TB, original database) string {
	t.Helper()
	changed := database{}
	for table, documents := range db {
		changed[table] = map[string]document{}
		for id, d := range documents {
			if reflect.ValueOf(d).Pointer() != reflect.ValueOf(original[table][id]).Pointer() {
				changed[table][id] = d
			}
		}
	}
	text, err := jsontext.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// get returns a document, or the error that a model reads.
func (db database) get(table string, id any) (document, error) {
	if d, ok := db[table][fmt.Sprint(id)]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("%v is not in %s", id, table)
}

// body is what a tool does with a database.
type body func(db database, in document) (any, error)

// operation is a tool of a domain.
type operation struct {
	line string // as in testdata/tools.txt
	// answer is the field of its result that an answer to a user needs.
	answer string
	writes bool
	body   body
}

// look returns the document that one field of the input names.
func look(table, field string) body {
	return func(db database, in document) (any, error) { return db.get(table, in[field]) }
}

// pick returns the documents of a table that have the input's values in these fields, at
// most a page of them, by id.
func pick(table string, fields ...string) body {
	return func(db database, in document) (any, error) {
		const page = 8
		found := []document{}
		for _, id := range sortedKeys(db[table]) {
			d, fits := db[table][id], true
			for _, f := range fields {
				fits = fits && d[f] == in[f]
			}
			if fits && len(found) < page {
				found = append(found, d)
			}
		}
		return document{"results": found}, nil
	}
}

// set copies fields of the input into the document that another field names, and gives
// it a status.
func set(table, field, status string, fields ...string) body {
	return func(db database, in document) (any, error) {
		d, err := db.get(table, in[field])
		if err != nil {
			return nil, err
		}
		if d["status"] == "closed" {
			return nil, errors.New("it is closed and cannot be changed")
		}
		d = maps.Clone(d)
		for _, f := range fields {
			if v, ok := in[f]; ok {
				d[f] = v
			}
		}
		if status != "" {
			d["status"] = status
		}
		db[table][d["id"].(string)] = d
		return d, nil
	}
}

// add stores the input as a new document. Its id follows from the size of the table,
// so that replays of the same calls make the same.
func add(table, prefix string) body {
	return func(db database, in document) (any, error) {
		id := fmt.Sprintf("%s%04d", prefix, len(db[table])+1)
		d := document{"id": id, "status": "open"}
		maps.Copy(d, in)
		db[table][id] = d
		return d, nil
	}
}

// fixed returns the same value for every input.
func fixed(value document) body {
	return func(database, document) (any, error) { return value, nil }
}

// tools are the operations as tools over a database.
func tools(t testing.TB, operations []operation, db database) []catalog.Tool {
	t.Helper()
	var all []catalog.Tool
	for _, o := range operations {
		tool, err := parseTool(o.line)
		if err != nil {
			t.Fatal(err)
		}
		tool.ReadOnly = !o.writes
		tool.Invoke = func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in document
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			result, err := o.body(db, in)
			if err != nil {
				return nil, err
			}
			return jsontext.Marshal(result)
		}
		all = append(all, tool)
	}
	return all
}

// dice are numbers that follow from a name, the same on every machine and with every
// version of Go.
type dice struct{ state uint64 }

func newDice(name string) *dice {
	h := fnv.New64a()
	h.Write([]byte(name)) // a hash never fails
	return &dice{h.Sum64()}
}

// roll returns a number from 0 to n-1, by the generator SplitMix64.
func (d *dice) roll(n int) int {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func choose[T any](d *dice, list []T) T { return list[d.roll(len(list))] }
