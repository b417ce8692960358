package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// grandchildKey marks a process that rude has started.
const grandchildKey = "QUOIN_RUDE_GRANDCHILD"

// starts are the ways to misbehave before the handshake. A start that returns
// serves afterwards.
var starts = map[string]func() error{
	// Says nothing, for ever.
	"no-handshake": func() error { select {} },
	// Prints something else instead of the handshake and stays.
	"garbage": func() error {
		fmt.Println("\x00\xff<html>502 Bad Gateway</html>")
		select {}
	},
	// Prints a handshake that leads nowhere and stays.
	"false-handshake": func() error {
		fmt.Println("1|1|unix|/nonexistent/rude.sock|grpc|")
		select {}
	},
	// Prints a handshake of a future protocol and stays.
	"future-handshake": func() error {
		fmt.Println("1|99|unix|/nonexistent/rude.sock|grpc|")
		select {}
	},
	// Prints without end on one line.
	"endless-line": func() error {
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return err
			}
		}
	},
	// Ends at once, with a word of explanation.
	"exit": func() error { return fmt.Errorf("would rather not") },
	// Prints rubbish and then behaves: a host may well put up with it.
	"noisy": func() error {
		fmt.Println("loading…")
		fmt.Fprintln(os.Stderr, `{"@level":"panic","@message":["not","text"]}`)
		return nil
	},
	// Leaves a child that holds standard output and error, and then serves.
	"grandchild": func() error { return spawn(false) },
	// The same, with the child in a session of its own.
	"grandchild-detached": func() error { return spawn(true) },
	// Leaves such a child and ends at once.
	"grandchild-exit": func() error {
		if err := spawn(false); err != nil {
			return err
		}
		return fmt.Errorf("gone, but not quite")
	},
}

// beforeHandshake runs the part of a mode that comes first, if it has one.
func beforeHandshake(name string) error {
	start := starts[name]
	if start == nil {
		return nil
	}
	return start()
}

// spawn starts a copy of this program that does nothing and holds what it
// inherits. It ends by itself, see grandchildLifetime.
func spawn(detached bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{grandchildKey + "=1"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if detached {
		detach(cmd)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
