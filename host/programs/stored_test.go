package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// listedDocs is a store of documents that has been given its list.
type listedDocs struct {
	documents.Store
	docs    []documents.Document
	version string
	reads   int
	written []string
}

func (d *listedDocs) Version(context.Context) (string, error) { return d.version, nil }

func (d *listedDocs) All(context.Context, string) ([]documents.Document, error) {
	d.reads++
	return d.docs, nil
}

func (d *listedDocs) Create(_ context.Context, name string, _ []byte, _ time.Time) error {
	d.written = append(d.written, name)
	return nil
}

func (d *listedDocs) Replace(ctx context.Context, name string, b []byte, at time.Time) error {
	return d.Create(ctx, name, b, at)
}

func (d *listedDocs) Lock(ctx context.Context, _ string) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

func numbered(t *testing.T, n int) (*Program, documents.Document) {
	t.Helper()
	p := &Program{Name: fmt.Sprint("p", n), Language: "javascript", Code: "return 1", For: ForEveryone, Input: json.RawMessage(`{"type":"object"}`), By: "ada"}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return p, documents.Document{Name: savedName(p), Content: b}
}

// TestAFullStoreTakesNoMorePrograms, but replaces those that it has.
func TestAFullStoreTakesNoMorePrograms(t *testing.T) {
	t.Parallel()
	docs := &listedDocs{version: "1"}
	for i := range MaxPrograms {
		_, doc := numbered(t, i)
		docs.docs = append(docs.docs, doc)
	}
	for n, ok := range map[int]bool{0: true, MaxPrograms: false} {
		docs.written = nil
		p, doc := numbered(t, n)
		err := NewStored(docs, nil).Put(t.Context(), p, true)
		if (err == nil) != ok || !ok && !errors.Is(err, Full) || (len(docs.written) == 1 && docs.written[0] == doc.Name) != ok {
			t.Errorf("the program %d: %v, and written are %q", n, err, docs.written)
		}
	}
	docs.docs = docs.docs[1:]
	if p, _ := numbered(t, MaxPrograms); NewStored(docs, nil).Put(t.Context(), p, false) != nil {
		t.Error("a store with room for one refuses it")
	}
}

// TestAListIsAsOldAsItsVersion: it is read again once that is another, and where it cannot
// be told.
func TestAListIsAsOldAsItsVersion(t *testing.T) {
	t.Parallel()
	docs := &listedDocs{}
	s := NewStored(docs, nil)
	for i, tt := range []struct {
		version string
		reads   int // until then
	}{{"1", 1}, {"1", 1}, {"2", 2}, {"", 3}, {"", 4}, {"2", 5}, {"2", 5}} {
		_, doc := numbered(t, i)
		docs.version, docs.docs = tt.version, []documents.Document{doc}
		list, err := s.List(t.Context())
		if err != nil || len(list) != 1 || docs.reads != tt.reads {
			t.Errorf("at step %d: %d programs, %d reads, %v; want %d reads", i, len(list), docs.reads, err, tt.reads)
		}
	}
}
