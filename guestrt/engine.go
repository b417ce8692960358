package guestrt

import "strings"

// Engine says which JavaScript engine runs the guests. Each engine has a worker of its
// own, and a snapshot resumes in a worker of the engine that took it. The zero value takes
// the engine of the worker that Config.GuestPath names; without one it is EngineAuto.
type Engine string

const (
	// EngineDefault is QuickJS translated to Go. It builds without a C compiler.
	EngineDefault Engine = "default"
	// EngineNative is QuickJS in C, for programs that compute for long. Without its
	// worker there is no pool: the default engine never takes its place.
	EngineNative Engine = "native"
	// EngineAuto is EngineNative where a worker of it is found, else EngineDefault.
	// A worker of the native engine that is found and does not work is an error.
	EngineAuto Engine = "auto"
)

// check refuses values that are not defined.
func (e Engine) check() error {
	switch e {
	case EngineDefault, EngineNative, EngineAuto, "":
		return nil
	}
	return unavailable("the guest engine is %q, expected %q, %q or %q", string(e), EngineDefault, EngineNative, EngineAuto)
}

// nativeIDs start the ids of the native engine.
const nativeIDs = "quickjs-ng-"

// EngineOf returns which engine has the id that a worker has said. An empty id is of a
// time when there was one engine.
func EngineOf(id string) Engine {
	if strings.HasPrefix(id, nativeIDs) {
		return EngineNative
	}
	return EngineDefault
}

// maxEngineID bounds the id of an engine, in bytes.
const maxEngineID = 128

func plainID(id string) bool {
	if id == "" || len(id) > maxEngineID {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
