package host

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/namespaces"
)

// viewsOf is a host whose views alone work.
func viewsOf(t *testing.T, tools ...catalog.Tool) *Host {
	t.Helper()
	h := &Host{}
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.view.Store(h.newView(c, namespaces.NewRegistry()))
	return h
}

// TestViewCache: of many that ask for views at once, one makes each, and all get
// the same; the cache never holds more than it should.
func TestViewCache(t *testing.T) {
	h := viewsOf(t, catalog.Tool{Name: "a"}, catalog.Tool{Name: "b"})
	base := h.view.Load()
	var made atomic.Int64
	var wg sync.WaitGroup
	got := make([][]*view, 16)
	for g := range got {
		wg.Go(func() {
			for i := range maxDerived {
				v, err := base.derived.get(derivation{rules: fmt.Sprint(i)}, func() (*view, error) {
					made.Add(1)
					return h.newView(base.catalog, base.registry), nil
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
		if _, err := base.derived.get(derivation{client: fmt.Sprint(i)}, func() (*view, error) { return base, nil }); err != nil {
			t.Fatal(err)
		}
		if n := len(base.derived.made); n > maxDerived || n != len(base.derived.order) {
			t.Fatalf("the cache holds %d views, %d in order", n, len(base.derived.order))
		}
	}
}

// TestViewsWhileToolsChange: derived views are always of one base, whatever
// changes meanwhile.
func TestViewsWhileToolsChange(t *testing.T) {
	h := viewsOf(t, catalog.Tool{Name: "both"}, catalog.Tool{Name: "gen0"})
	deny, err := policy.Rules{Deny: []string{"both"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	client, f := newClientTools([]catalog.Tool{{Name: "mine"}})
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
				v, err := h.deriveView(policy.Layers{deny}, client)
				if err != nil {
					t.Error(err)
					return
				}
				entries := v.catalog.Entries()
				if len(entries) != 2 || entries[0].Name[:3] != "gen" || entries[1].ID != "client:client:mine" {
					t.Errorf("a view of %v", entries)
					return
				}
				v.catalog.Search("gen", 3)
				v.declarations.index()
			}
		})
	}
	for gen := range 50 {
		c, err := catalog.New([]catalog.Tool{{Name: "both"}, {Name: fmt.Sprint("gen", gen)}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.view.Store(h.newView(c, namespaces.NewRegistry()))
	}
	close(stop)
	wg.Wait()
}
