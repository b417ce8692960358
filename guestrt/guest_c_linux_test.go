//go:build quickjs_c

package guestrt

// nativeBuild says that this test binary has the native engine.
const nativeBuild = true
