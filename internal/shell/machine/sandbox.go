package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/egress"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Sandbox returns the launcher of commands that see the working directory and what the
// configuration adds, without deny, and reach the network through a proxy at the most.
func Sandbox(s *settings.Settings, workdir string, deny []string, log *slog.Logger) (*confine.Launcher, error) {
	if err := errors.Join(missing("read", s.Sandbox.Read), missing("write", s.Sandbox.Write)); err != nil {
		return nil, err
	}
	o := confine.Options{
		Write: slices.Concat([]string{workdir}, s.Sandbox.Write), Read: s.Sandbox.Read, Deny: slices.Concat(s.Sandbox.Deny, deny),
		MemoryBytes: s.Sandbox.MemoryBytes, Processes: s.Sandbox.Processes, FileBytes: s.Sandbox.FileBytes,
		Required: *s.Sandbox.Required,
	}
	if len(s.Sandbox.Domains) > 0 {
		proxy, err := egress.New(egress.Config{Domains: s.Sandbox.Domains, Refused: func(r egress.Refusal) {
			log.Warn("a command in the sandbox was refused a server", "server", r.Server, "reason", r.Reason, "hint", r.Hint)
		}})
		if err != nil {
			return nil, err
		}
		o.Proxy = func(l net.Listener) error { return proxy.Serve(context.Background(), l) } // until it is closed
	}
	return confine.New(o)
}

// missing names the first of the paths of a field that does not exist.
func missing(field string, paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %s does not exist: make it, or leave it out", field, path)
		}
	}
	return nil
}
