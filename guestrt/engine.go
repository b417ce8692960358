package guestrt

import (
	"strings"

	"github.com/quoinhq/quoin/internal/wire"
)

// Engine says which JavaScript engine runs the guests. Each engine has a worker of its
// own, and a snapshot goes on in a worker of the engine that took it. The zero value
// takes the engine of the worker that Config.GuestPath names; without one it is EngineAuto.
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

// checkEngine holds the engine that a worker says it runs against the one that was
// looked for. Ids become labels of metrics and go into records, so they are short and
// plain.
func (b *binary) checkEngine(ready *wire.Ready) error {
	id := ready.EngineID
	if !plainID(id) {
		return unavailable("the guest worker %s says that its engine is %.64q, which is not an engine's id; use the worker built with this host", b.path, id)
	}
	if got := EngineOf(id); got != b.kind.engine && !b.anyEngine {
		return unavailable("the guest worker %s runs the %s engine (%s), expected the %s engine: %s must name a worker of it, "+
			"and %s one of the %s engine; or set guest.engine to %q",
			b.path, got, id, b.kind.engine, b.kind.setting, kindOf(got).setting, got, got)
	}
	return nil
}

// maxEngineID bounds the id of an engine, in bytes.
const maxEngineID = 128

func plainID(id string) bool {
	if id == "" || len(id) > maxEngineID {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
