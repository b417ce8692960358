// Package pluginstest is the conformance suite as tests, for a plugin that its
// author builds, in whatever language it is written:
//
//	func TestPlugin(t *testing.T) {
//		pluginstest.Exercise(t, "../../build/plugins/issues", nil)
//	}
//
// Each part of package conformance is a subtest. What the plugin neither offers
// nor declares is named in the log as not exercised. For the behaviour of a
// plugin's own tools use package sdktest.
package pluginstest
