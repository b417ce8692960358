package pluginstest

import (
	"testing"

	"github.com/quoinhq/quoin/plugins/conformance"
)

// Options tune the suite. A nil *Options means all defaults.
type Options = conformance.Options

// Exercise runs the suite against the plugin in dir, the folder that holds its
// plugin.json and its built command. Each part is a subtest.
func Exercise(t *testing.T, dir string, o *Options) {
	t.Helper()
	for _, part := range conformance.Parts() {
		t.Run(part.Name, func(t *testing.T) {
			r, err := part.Run(t.Context(), dir, o)
			for _, what := range r.NotExercised {
				t.Logf("not exercised: %s", what)
			}
			for _, p := range r.Problems {
				t.Error(p)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
