//go:build !linux

package guestrt

import (
	"runtime"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// groups and group stand for control groups, which this system has not.
type (
	groups struct{}
	group  struct{}
)

func findGroups() *groups { return &groups{} }

func (*groups) layer(*group) wire.Layer {
	return wire.Layer{Name: sandbox.LayerCgroup, State: wire.LayerOff, Detail: "not available on " + runtime.GOOS}
}

func (*group) outOfMemory() bool { return false }
func (*group) remove() error     { return nil }
