package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

// A hint at how to go on with a run is a whole command: it works in any directory, as
// it is printed.

// defaultSession is the session of commands that do not name one.
const defaultSession = "cli"

// origin are the flags with which another process makes the host that o asks for,
// whose directories have been found.
func (o *options) origin(f *configfile.File, plugins, state string) ([]string, error) {
	config, err := paths.Config(o.config)
	if err != nil {
		return nil, err
	}
	var flags []string
	if isDatabase(o.state) {
		flags, state = append(flags, "--state", withoutPassword(o.state)), ""
	} else if o.state == "" && isDatabase(f.StateURL) {
		state = "" // the configuration says it
	}
	for _, known := range []struct{ name, path string }{{"--config", config}, {"--plugins", plugins}, {"--state", state}} {
		if known.path == "" {
			if known.name != "--state" { // there may be one of the user's own by then
				flags = append(flags, known.name, paths.None)
			}
			continue
		}
		abs, err := filepath.Abs(known.path)
		if err != nil {
			return nil, err
		}
		flags = append(flags, known.name, abs)
	}
	for _, guest := range []struct{ field, path string }{{"guest.path", f.GuestPath}, {"guest.nativePath", f.NativePath}} {
		if guest.path == "" || filepath.IsAbs(guest.path) {
			continue
		}
		abs, err := filepath.Abs(guest.path)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--set", guest.field+"="+abs)
	}
	if o.engine.Value != "" {
		flags = append(flags, "--engine", o.engine.Value)
	}
	for _, set := range o.set {
		flags = append(flags, "--set", set)
	}
	if o.bodies {
		flags = append(flags, "--record-bodies")
	}
	return flags, nil
}

// flags are those with which another command uses the same server, or nil.
func (r *remote) flags() []string {
	server := cmp.Or(r.server, os.Getenv(envServer))
	if server == "" {
		return nil
	}
	flags := []string{"--server", server}
	if r.tokenFile != "" {
		if abs, err := filepath.Abs(r.tokenFile); err == nil {
			flags = append(flags, "--token-file", abs)
		}
	}
	return flags
}

// waitLine is the command that goes on with a run of a session. where are the flags
// that say on which host.
func waitLine(runID string, s host.Session, where []string) string {
	return shellLine(append([]string{program(), "wait"}, waitWords(runID, s, where)...))
}

// waitWords are what that command is given.
func waitWords(runID string, s host.Session, where []string) []string {
	words := append([]string{runID}, where...)
	if s.SessionID != defaultSession {
		words = append(words, "--session", s.SessionID)
	}
	for _, f := range []struct{ name, value string }{{"--agent", s.AgentID}, {"--session-key", s.SessionKey}, {"--turn", s.TurnID}} {
		if f.value != "" {
			words = append(words, f.name, f.value)
		}
	}
	return words
}

// shellLine is the command of these words.
func shellLine(words []string) string {
	for i, w := range words {
		words[i] = output.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// program is the word that starts this command again from anywhere.
func program() string {
	self, err := os.Executable()
	if err != nil {
		return "quoin"
	}
	found, err := exec.LookPath("quoin")
	if err != nil {
		return self
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(found)
	if errA != nil || errB != nil || !os.SameFile(a, b) || !filepath.IsAbs(found) {
		return self
	}
	return "quoin"
}

// hint says how to go on with the run of a result that waits, or that this host
// refuses and keeps, and what a person has to answer before.
func (o *options) hint(cmd *cobra.Command, b backend, res *host.Result) {
	ctx := context.WithoutCancel(cmd.Context())
	var line string
	var where []string
	switch far := o.remote.flags(); {
	case res.Status == host.StatusWaiting && far != nil:
		line, where = waitLine(res.RunID, o.caller(), far), far
	case res.Status == host.StatusWaiting, res.Reason == host.ReasonToolsMissing:
		own, ok := b.(inProcess)
		if !ok {
			return
		}
		run, err := own.Run(ctx, cmp.Or(res.RunID, cmd.Flags().Arg(0)))
		if err != nil {
			return
		}
		line, where = waitLine(run.ID, run.Session, run.Origin), stateFlags(run.Origin)
	default:
		return
	}
	if asked, ok := b.(interface {
		Approvals(context.Context, policy.Filter) ([]*policy.Approval, error)
	}); ok && res.Reason == host.ReasonApproval {
		list, err := asked.Approvals(ctx, policy.Filter{RunID: res.RunID})
		if err == nil {
			for _, a := range list {
				terminal.Fprintf(cmd.ErrOrStderr(), "waits for: %s; see it with: %s\n", terminal.Short(a.Title),
					shellLine(append([]string{program(), "approvals", "show", a.ID}, where...)))
			}
		}
	}
	terminal.Fprintf(cmd.ErrOrStderr(), "go on with: %s\n", line)
}

// stateFlags are those of the flags of an origin that name the configuration and the
// state directory.
func stateFlags(origin []string) []string {
	var flags []string
	for i := 0; i+1 < len(origin); i += 2 {
		if origin[i] == "--config" || origin[i] == "--state" {
			flags = append(flags, origin[i:i+2]...)
		}
	}
	return flags
}
