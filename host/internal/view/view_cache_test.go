package view

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/namespaces"
)

func viewOf(t *testing.T, tools ...catalog.Tool) *View {
	t.Helper()
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return New(c, namespaces.NewRegistry(), nil)
}

// TestViewCache: of many that ask for views at once, one makes each, and all get
// the same; the cache never holds more than it should.
func TestViewCache(t *testing.T) {
	base := viewOf(t, catalog.Tool{Name: "a"}, catalog.Tool{Name: "b"})
	var made atomic.Int64
	var wg sync.WaitGroup
	got := make([][]*View, 16)
	for g := range got {
		wg.Go(func() {
			for i := range maxDerived {
				v, err := base.derived.get(derivation{rules: fmt.Sprint(i)}, func() (*View, error) {
					made.Add(1)
					return New(base.Catalog, base.Registry, nil), nil
				})
				if err != nil {
					t.Error(err)
				}
				got[g] = append(got[g], v)
			}
		})
	}
	wg.Wait()
	if made.Load() != maxDerived {
		t.Errorf("%d views were made for %d derivations", made.Load(), maxDerived)
	}
	for g := range got {
		for i := range got[g] {
			if got[g][i] != got[0][i] {
				t.Fatalf("two views of derivation %d", i)
			}
		}
	}
	for i := range 3 * maxDerived {
		if _, err := base.derived.get(derivation{client: fmt.Sprint(i)}, func() (*View, error) { return base, nil }); err != nil {
			t.Fatal(err)
		}
		if n := len(base.derived.made); n > maxDerived || n != len(base.derived.order) {
			t.Fatalf("the cache holds %d views, %d in order", n, len(base.derived.order))
		}
	}
}

// TestViewsWhileToolsChange: derived views are always of one base, whatever changes in the
// meantime.
func TestViewsWhileToolsChange(t *testing.T) {
	var current atomic.Pointer[View]
	current.Store(viewOf(t, catalog.Tool{Name: "both"}, catalog.Tool{Name: "gen0"}))
	deny, err := policy.Rules{Deny: []string{"both"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	client, f := NewClientTools([]catalog.Tool{{Name: "mine"}})
	if f != nil {
		t.Fatal(f)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v, err := current.Load().Derive(policy.Layers{deny}, client)
				if err != nil {
					t.Error(err)
					return
				}
				entries := v.Catalog.Entries()
				if len(entries) != 2 || entries[0].Name[:3] != "gen" || entries[1].ID != "client:client:mine" {
					t.Errorf("a view of %v", entries)
					return
				}
				v.Catalog.Search("gen", 3)
				v.Declarations.Index()
			}
		})
	}
	for gen := range 50 {
		current.Store(viewOf(t, catalog.Tool{Name: "both"}, catalog.Tool{Name: fmt.Sprint("gen", gen)}))
	}
	close(stop)
	wg.Wait()
}
