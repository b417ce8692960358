package plugins

import "testing"

// TestFieldsOfTheHostAreItsOwn: a plugin cannot write a second level or time into a
// line of the host's log.
func TestFieldsOfTheHostAreItsOwn(t *testing.T) {
	t.Parallel()
	r, ok := parseRecord([]byte(`{"@message":"m","@level":"info","level":"ERROR","time":"2020","msg":"x","source":"y","plugin":"z","mine":1}`))
	if !ok {
		t.Fatal("the line is no record")
	}
	got := map[string]bool{}
	for _, a := range r.attrs {
		got[a.Key] = true
	}
	for _, name := range []string{"level", "time", "msg", "source", "plugin"} {
		if got[name] || !got[name+"_field"] {
			t.Errorf("the field %s: %v", name, got)
		}
	}
	if !got["mine"] {
		t.Errorf("a field of the plugin's own is gone: %v", got)
	}
}
