package enginefaults

import (
	"reflect"
	"testing"
)

// TestOpenInOneEngine: an open fault is told of its own engine only.
func TestOpenInOneEngine(t *testing.T) {
	defer func(all []Fault) { All = all }(All)
	All = []Fault{{What: "a", Default: Open, Native: Repaired}, {What: "b", Default: Absent, Native: Open}}
	for id, want := range map[string][]string{
		"quickjs-2026-06-04/libquickjs-0.14.0/arena-1":  {"a"},
		"quickjs-ng-0.15.1/quickjs-go-0.7.7/arena-1":    {"b"},
		"quickjs-ng-0.16.2/something-else-1/arena-1234": {"b"},
	} {
		if got := OpenIn(id); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
