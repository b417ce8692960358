package namespaces

import (
	"slices"
	"testing"
)

// tools is a catalog: pairs of tool name and owner.
type tools [][2]string

func (t tools) Owned(name, owner string) bool { return slices.Contains(t, [2]string{name, owner}) }

func TestAccess(t *testing.T) {
	const mine, other = "tracker", "intruder"
	tests := []struct {
		name     string
		required []string
		catalog  tools
		visible  bool
	}{
		{"empty catalog", []string{"a"}, nil, false},
		{"the tool, own", []string{"a"}, tools{{"a", mine}}, true},
		{"the tool, another's", []string{"a"}, tools{{"a", other}}, false},
		{"the tool, the host's", []string{"a"}, tools{{"a", "core"}}, false},
		{"own and another's of the same name", []string{"a"}, tools{{"a", other}, {"a", mine}}, true},
		{"own under another name", []string{"a"}, tools{{"A", mine}, {"aa", mine}}, false},
		{"owner that begins alike", []string{"a"}, tools{{"a", mine + "2"}, {"a", "Tracker"}}, false},
		{"both, own", []string{"a", "b"}, tools{{"a", mine}, {"b", mine}}, true},
		{"one of two denied", []string{"a", "b"}, tools{{"a", mine}}, false},
		{"one of two another's", []string{"a", "b"}, tools{{"a", mine}, {"b", other}}, false},
		{"each another's", []string{"a", "b"}, tools{{"a", other}, {"b", other}}, false},
		{"more than required", []string{"a"}, tools{{"a", mine}, {"b", mine}, {"c", other}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewRegistry()
			if err := r.Register(reg(func(r *Registration) { r.PluginID, r.RequiredTools = mine, test.required })); err != nil {
				t.Fatal(err)
			}
			if got := len(r.Visible(test.catalog)) == 1; got != test.visible {
				t.Errorf("visible: %v, want %v", got, test.visible)
			}
			r.Clear(mine)
			if got := r.Visible(test.catalog); len(got) != 0 {
				t.Errorf("visible after Clear: %v", got)
			}
		})
	}
}

func TestVisibleIsSortedByID(t *testing.T) {
	r := NewRegistry()
	for _, id := range []string{"c", "a", "b"} {
		if err := r.Register(reg(func(r *Registration) { r.ID, r.GlobalName = id, "G"+id })); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, v := range r.Visible(tools{{"list_issues", "tracker"}}) {
		ids = append(ids, v.ID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("order: %v", ids)
	}
}

// asking is a catalog that uses the registry while it is asked.
type asking struct{ r *Registry }

func (a asking) Owned(string, string) bool { return a.r.Clear("nobody") == 0 && len(a.r.All()) > 0 }

func TestVisibleHoldsNoLockWhileItAsks(t *testing.T) {
	r := NewRegistry()
	if err := r.Register(reg(nil)); err != nil {
		t.Fatal(err)
	}
	if len(r.Visible(asking{r})) != 1 {
		t.Error("not visible")
	}
}
