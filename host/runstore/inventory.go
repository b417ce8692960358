package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// ItemKind says what an Item is.
type ItemKind string

// What a store keeps.
const (
	ItemRun     ItemKind = "run"     // the record of a suspended run
	ItemResult  ItemKind = "result"  // the result of a run that has ended, not delivered yet
	ItemEffects ItemKind = "effects" // the journal of the effects of a run
)

// Item is one thing that a store keeps, whether it can be read or not.
type Item struct {
	ID      string    `json:"runId"`
	Kind    ItemKind  `json:"kind"`
	Bytes   int64     `json:"bytes"`   // about what it takes in the store
	Expires time.Time `json:"expires"` // a hint: it is not sealed
}

// Inventory is implemented by stores that can say what they keep without reading it. It is
// for operators: List leaves out what it cannot read.
type Inventory interface {
	// Items returns what the store keeps, also what has expired and is not swept yet, in
	// order of ids and then of kinds. What comes or goes while it runs may be left out.
	Items(ctx context.Context) ([]Item, error)
}

var (
	_ Inventory = (*Dir)(nil)
	_ Inventory = (*Memory)(nil)
)

// Items implements Inventory.
func (d *Dir) Items(ctx context.Context) ([]Item, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	kinds := map[string]ItemKind{recordExt: ItemRun, endedExt: ItemResult, effectsExt: ItemEffects}
	var out []Item
	for _, e := range entries {
		id, ext, _ := strings.Cut(e.Name(), ".")
		kind, ok := kinds["."+ext]
		if !ok || !idPattern.MatchString(id) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Item{id, kind, info.Size(), info.ModTime()})
	}
	sortItems(out)
	return out, ctx.Err()
}

// Items implements Inventory.
func (m *Memory) Items(context.Context) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Item
	for id, r := range m.records {
		size := len(r.Image)
		for _, c := range r.Calls {
			size += len(c.Args) + len(c.Input) + len(c.Answer)
		}
		out = append(out, Item{id, ItemRun, int64(size), r.Expires})
	}
	for _, e := range m.ended {
		out = append(out, Item{e.ID, ItemResult, int64(len(e.Result)), e.Expires})
	}
	for id, j := range m.effects {
		b, err := json.Marshal(j.Effects)
		if err != nil {
			return nil, err
		}
		out = append(out, Item{id, ItemEffects, int64(len(b)), j.Expires})
	}
	sortItems(out)
	return out, nil
}

// sortItems orders items by id, and the items of one run by kind.
func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind)) })
}
