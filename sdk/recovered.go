package sdk

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// service answers the host's calls.
type service struct {
	p           *Plugin
	development bool
	after       func(time.Duration) <-chan time.Time
}

// recovered turns a panic of author code into an error that names the plugin
// and the place; the stack goes to the log.
func (s *service) recovered(place string, err *error) {
	v := recover()
	if v == nil {
		return
	}
	s.p.logger.Error("panic in "+place, "panic", fmt.Sprint(v), "stack", stack())
	*err = protocol.NewError(protocol.KindPlugin, protocol.CodePanic, "plugin %s: %s panicked: %v", s.p.info.ID, place, v)
}

// maxStack is how much of a stack fits a log line of the host, in bytes.
const maxStack = 8 << 10

// stack is the stack of the panic.
func stack() string {
	b := debug.Stack()
	return string(b[:min(len(b), maxStack)])
}
