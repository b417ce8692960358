package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// reportWithout is every layer on, with Landlock of the given version, but for the
// layers that are off.
func reportWithout(landlock string, off ...string) []wire.Layer {
	layers := Unsealed("")
	for i, l := range layers {
		if !slices.Contains(off, l.Name) {
			layers[i].State = wire.LayerOn
		}
		if l.Name == LayerLandlock {
			layers[i].Detail = landlock
		}
	}
	return layers
}

func TestLackingGroup(t *testing.T) {
	for state, want := range map[string]bool{wire.LayerOn: false, wire.LayerOff: true, wire.LayerFailed: true, "": true} {
		layers := Unsealed("x")
		if state != "" {
			layers = append(layers, wire.Layer{Name: LayerCgroup, State: state, Detail: "none here"})
		}
		found := slices.ContainsFunc(LackingGroup(layers), func(m Missing) bool { return m.Name == LayerCgroup && m.Remedy != "" })
		if found != want {
			t.Errorf("a cgroup that is %q: missing is %v, want %v", state, found, want)
		}
	}
}

func TestLacking(t *testing.T) {
	for _, c := range []struct {
		landlock  string
		off, want []string
	}{
		{"version 7", nil, nil},
		{"version 7", []string{LayerRoot}, nil},
		{"version 7", []string{LayerNamespaces, LayerRoot}, nil},
		{"version 4", []string{LayerNamespaces, LayerRoot}, nil},
		{"version 3", []string{LayerNamespaces, LayerRoot}, []string{LayerNamespaces, LayerLandlock}},
		{"", []string{LayerNamespaces, LayerRoot}, []string{LayerNamespaces, LayerLandlock}},
		{"version 7", []string{LayerNamespaces, LayerLandlock}, []string{LayerNamespaces, LayerLandlock}},
		{"", []string{LayerLandlock}, nil},
		{"version 7", []string{LayerSeccomp, LayerUser}, []string{LayerUser, LayerSeccomp}},
	} {
		var got []string
		missing := Lacking(reportWithout(c.landlock, c.off...))
		for _, m := range missing {
			got = append(got, m.Name)
			if m.Remedy == "" || !strings.Contains(Explain("", missing), m.Remedy) || m.State == wire.LayerOn {
				t.Errorf("%+v is not explained in %q", m, Explain("", missing))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("landlock %q, off %v: lacking %v, want %v", c.landlock, c.off, got, c.want)
		}
		if len(got) == 0 && Tier(reportWithout(c.landlock, c.off...)) == "D" {
			t.Errorf("off %v: tier D is good enough", c.off)
		}
	}
	if text := Explain("strict", Lacking(nil)); !strings.Contains(text, "not reported") || len(text) > 2000 {
		t.Error(text)
	}
	if len(Lacking(nil)) != len(indispensable)+2 {
		t.Errorf("an empty report lacks %v", Lacking(nil))
	}
}

// TestTheDocumentationNamesEveryLayer keeps docs/reference/security.md complete.
func TestTheDocumentationNamesEveryLayer(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(layerNames), LayerCgroup) {
		if !strings.Contains(string(b), "| `"+name+"` |") {
			t.Errorf("%s is not in the table of layers", name)
		}
	}
	if want := fmt.Sprintf("%d MiB with shared and kernel memory, no swap, %d threads", GroupMemory>>20, GroupThreads); !strings.Contains(string(b), want) {
		t.Errorf("%q is missing", want)
	}
}

func TestEveryLayerHasARemedy(t *testing.T) {
	for _, name := range append(slices.Clone(layerNames), LayerCgroup) {
		if Remedy(name) == "" {
			t.Errorf("nothing enables %s", name)
		}
	}
}
