package sdk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// slowAfter is how long a call of a plugin in development runs before the log says
// where it stands. It says so again after each doubling.
const slowAfter = 3 * time.Second

// inDevelopment reports whether the host has started this process for its author.
func inDevelopment() bool { return os.Getenv(protocol.EnvDevelopment) != "" }

// callLabel marks the goroutines of a call, and those that they start.
const callLabel = "quoin.call"

// watched runs a call. In development it says in the log where a call stands that
// does not end.
func (s *service) watched(ctx context.Context, req protocol.CallRequest, call func(context.Context)) {
	if !s.development {
		call(ctx)
		return
	}
	done := make(chan struct{})
	defer close(done)
	go s.sayWhere(req, done)
	pprof.Do(ctx, pprof.Labels(callLabel, req.CallID), call)
}

// sayWhere is the watch over one call.
func (s *service) sayWhere(req protocol.CallRequest, done <-chan struct{}) {
	for elapsed, pause := slowAfter, slowAfter; ; elapsed, pause = 2*elapsed, elapsed {
		select {
		case <-done:
			return
		case <-s.after(pause):
		}
		s.p.logger.Warn(fmt.Sprintf("tool %s has not answered for %v; it stands at", req.Tool, elapsed), "stack", callStack(req.CallID))
	}
}

// callStack is the stack of the goroutines of a call, or a word instead of it.
func callStack(call string) string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return "its goroutines cannot be looked at: " + err.Error()
	}
	var found []string
	for _, g := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(g, fmt.Sprintf("%q:%q", callLabel, call)) {
			found = append(found, trace(g))
		}
	}
	if found == nil {
		return "none of its goroutines is there"
	}
	text := strings.Join(found, "\n")
	return text[:min(len(text), maxStack)]
}

// profiled is a frame in the text of a profile: #, an address, function+0xN, file:line.
var profiled = regexp.MustCompile(`(?m)^#\t0x[0-9a-f]+\t(\S+)\+0x[0-9a-f]+\s+(\S.*:\d+)$`)

// trace writes the frames of a profile as a trace does.
func trace(group string) string {
	var b strings.Builder
	for _, m := range profiled.FindAllStringSubmatch(group, -1) {
		fmt.Fprintf(&b, "%s(...)\n\t%s\n", m[1], m[2])
	}
	return b.String()
}
