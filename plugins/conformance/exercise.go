package conformance

import "context"

// TB is what Exercise uses of its test: *testing.T has it.
type TB[T any] interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Error(args ...any)
	Fatal(args ...any)
	Run(name string, f func(T)) bool
}

// Exercise runs the suite as a test of the plugin in dir, the folder that holds its plugin.json
// and its built command:
//
//	func TestPlugin(t *testing.T) {
//		conformance.Exercise(t, "../../build/plugins/issues", nil)
//	}
//
// Each part is a subtest. What the plugin neither offers nor declares is named in the log as not
// exercised.
func Exercise[T TB[T]](t T, dir string, o *Options) {
	t.Helper()
	for _, part := range Parts() {
		t.Run(part.Name, func(t T) {
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
