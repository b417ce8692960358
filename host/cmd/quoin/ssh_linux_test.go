package main

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/internal/shell/sshtest"
)

type sshdKey struct{}

// TestSSHScripts runs the scripts that need an sshd; each has one of its own, by which it
// reaches another machine: this one with a state and a configuration of its own.
func TestSSHScripts(t *testing.T) {
	t.Parallel()
	sshtest.Need(t)
	p := scripts(t, "ssh")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		command, err := osexec.LookPath("quoin")
		if err != nil {
			return err
		}
		server := sshtest.New(t, "PATH="+filepath.Dir(command)+":/usr/bin:/bin",
			"QUOIN_CONFIG="+filepath.Join(e.WorkDir, "w", "node.json5"), "XDG_STATE_HOME="+filepath.Join(e.WorkDir, ".node"))
		e.Vars = append(e.Vars, "NODE="+server.Address, "SSH="+server.Bin)
		e.Values[sshdKey{}] = server
		return errors.Join(setup(e), expand(e, "shell.json5", "w/boxed.json5"))
	}
	p.Cmds["cut"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("usage: cut")
		}
		ts.Value(sshdKey{}).(*sshtest.Server).Cut()
	}
	testscript.Run(t, p)
}

// expand puts the variables of a script into files of it.
func expand(e *testscript.Env, files ...string) error {
	for _, name := range files {
		path := filepath.Join(e.WorkDir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(os.Expand(string(text), e.Getenv)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
