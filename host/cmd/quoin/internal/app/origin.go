package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// A hint at how to continue a run is a whole command: it works in any directory, as it is
// printed.

// origin returns the flags with which another process makes the host that o asks for. Its
// directories have been found.
func (o *Flags) origin(f *configfile.File, plugins, state string) ([]string, error) {
	config, err := paths.Config(o.Config)
	if err != nil {
		return nil, err
	}
	var flags []string
	if IsDatabase(o.State) {
		flags, state = append(flags, "--state", withoutPassword(o.State)), ""
	} else if o.State == "" && IsDatabase(f.StateURL) {
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
	for _, set := range o.Set {
		flags = append(flags, "--set", set)
	}
	if o.bodies {
		flags = append(flags, "--record-bodies")
	}
	return flags, nil
}

// WaitLine is the command that continues a run of a session. where are the flags
// that say on which host.
func WaitLine(runID string, s host.Session, where []string) string {
	return ShellLine(append([]string{Program(), "wait"}, WaitWords(runID, s, where)...))
}

// WaitWords are what that command is given.
func WaitWords(runID string, s host.Session, where []string) []string {
	words := append([]string{runID}, where...)
	if s.SessionID != DefaultSession {
		words = append(words, "--session", s.SessionID)
	}
	for _, f := range []struct{ name, value string }{{"--agent", s.AgentID}, {"--session-key", s.SessionKey}, {"--turn", s.TurnID}} {
		if f.value != "" {
			words = append(words, f.name, f.value)
		}
	}
	return words
}

// ShellLine is the command of these words.
func ShellLine(words []string) string {
	for i, w := range words {
		words[i] = output.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// Program is the word that starts this command again from anywhere.
func Program() string {
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
