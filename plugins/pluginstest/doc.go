// Package pluginstest is the conformance suite a plugin must pass to be a good
// citizen of a Quoin host, whatever language it is written in:
//
//	func TestPlugin(t *testing.T) {
//		pluginstest.Exercise(t, "../../build/plugins/issues", nil)
//	}
//
// It starts the built plugin as a host does and looks at what it claims, how it
// treats wrong inputs, unknown names and cancelled calls, whether its scopes
// are stable, whether examples do what they say, what its hooks answer, and how it
// stops. Tools that
// are not marked read-only are called with refused inputs only.
//
// [Check] is the same without a test: it returns the problems. Each problem
// names what was done, what came back and what was expected. For the behaviour
// of a plugin's own tools use package sdktest.
package pluginstest
