package systemcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// diagnosedShell is the shell plugin with this configuration. It does not start if its sandbox
// lacks what it requires.
type diagnosedShell struct {
	State  string `json:"state"`
	Host   string `json:"host"` // where commands run that do not say so
	Reason string `json:"reason,omitempty"`
	// Sandbox says which layers the sandbox of commands has here.
	Sandbox *confine.Report `json:"sandbox,omitempty"`
	// SandboxError says why commands cannot run in it.
	SandboxError string `json:"sandboxError,omitempty"`
}

// text is what a person reads of it.
func (d *diagnosedShell) text() string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(fmt.Sprintf("plugin shell is %s, for commands on host %s: %s", d.State, d.Host, d.Reason), ": ") + "\n")
	if d.Sandbox == nil {
		fmt.Fprintf(&b, "sandbox of commands: %s\n", d.SandboxError)
		return b.String()
	}
	fmt.Fprintf(&b, "sandbox of commands: tier %s\n", d.Sandbox.Tier)
	for _, l := range d.Sandbox.Layers {
		if !l.On {
			fmt.Fprintf(&b, "  without %s: %s\n", l.Name, l.Detail)
		}
	}
	return b.String()
}

// diagnoseShell starts the shell plugin, if it is enabled, and a sandbox, to see whether
// they can be had.
func diagnoseShell(o *app.Flags, cmd *cobra.Command, f *configfile.File) (found *diagnosedShell, err error) {
	raw, enabled := f.Config().Plugins.Config[settings.PluginID]
	if !enabled {
		return nil, nil
	}
	s, err := settings.Parse(raw)
	if err != nil {
		return nil, err
	}
	err = o.Inspect(cmd, io.Discard, func(h *host.Host) error {
		for _, p := range h.Plugins() {
			if p.ID == settings.PluginID {
				found = &diagnosedShell{State: p.State.String(), Host: string(s.Host), Reason: p.Reason}
			}
		}
		return nil
	})
	if err != nil || found == nil {
		return nil, err
	}
	report, err := inspectSandbox(cmd.Context(), s)
	if err != nil {
		found.SandboxError = err.Error()
		return found, nil
	}
	found.Sandbox = report
	return found, nil
}

// inspectSandbox makes the sandbox of commands and says what it has.
func inspectSandbox(ctx context.Context, s *settings.Settings) (report *confine.Report, err error) {
	scratch, err := os.MkdirTemp("", "quoin-doctor-")
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(scratch)) }()
	launcher, err := machine.Sandbox(s, cmp.Or(s.Workdir, scratch), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	r, err := launcher.Report(ctx)
	if err = cmp.Or(err, launcher.Close()); err != nil {
		return nil, err
	}
	return &r, nil
}
