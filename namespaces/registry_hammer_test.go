package namespaces

import (
	"fmt"
	"sync"
	"testing"
)

// TestRegistryHammer has more goroutines than cores replace, clear and read.
// Whatever the order, a reader sees whole generations: a plugin's two
// namespaces are both there, of one generation, or neither is.
func TestRegistryHammer(t *testing.T) {
	r := NewRegistry()
	const plugins, rounds = 8, 150
	generation := func(plugin string, n int) []Registration {
		var regs []Registration
		for _, half := range []string{"a", "b"} {
			regs = append(regs, reg(func(r *Registration) {
				r.PluginID, r.ID, r.GlobalName = plugin, plugin+"-"+half, "G"+plugin+half
				r.Description = fmt.Sprint(n)
			}))
		}
		return regs
	}
	var wg sync.WaitGroup
	for p := range plugins {
		plugin := fmt.Sprintf("p%d", p)
		wg.Go(func() {
			for n := range rounds {
				if err := r.Replace(plugin, generation(plugin, n)); err != nil {
					t.Error(err)
				}
				if n%7 == 0 && r.Clear(plugin) != 2 {
					t.Error("Clear did not find both namespaces")
				}
			}
		})
		wg.Go(func() {
			for range rounds {
				checkWhole(t, r.All())
				checkWhole(t, r.Visible(everything{}))
			}
		})
		wg.Go(func() { // a rival for names that are always refused or free
			for range rounds {
				rival := reg(func(r *Registration) { r.PluginID, r.ID, r.GlobalName = "rival", "rival", "Rival" })
				if err := r.Register(rival); err == nil {
					r.Clear("rival")
				}
			}
		})
	}
	wg.Wait()
}

type everything struct{}

func (everything) Owned(string, string) bool { return true }

func checkWhole(t *testing.T, regs []Registration) {
	t.Helper()
	generations := map[string][]string{}
	globals := map[string]bool{}
	for _, reg := range regs {
		if globals[reg.GlobalName] {
			t.Errorf("global %s has two owners", reg.GlobalName)
		}
		globals[reg.GlobalName] = true
		if reg.PluginID != "rival" {
			generations[reg.PluginID] = append(generations[reg.PluginID], reg.Description)
		}
	}
	for plugin, seen := range generations {
		if len(seen) != 2 || seen[0] != seen[1] {
			t.Errorf("plugin %s is half replaced: %v", plugin, seen)
		}
	}
}
