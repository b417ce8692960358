package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// session is a quoin plugin dev that runs next to a script.
type session struct {
	ts     *testscript.TestScript
	cmd    *osexec.Cmd
	output string // file with what it prints
	read   int    // bytes of it that someone has waited for
	exited chan error
}

type sessionKey struct{}

// beginSession starts a command in a directory. It is killed at the end of the
// script if it has not ended before.
func beginSession(ts *testscript.TestScript, dir string, command []string) *session {
	s := &session{ts: ts, output: filepath.Join(ts.MkAbs("."), "session"), exited: make(chan error, 1)}
	out, err := os.Create(s.output)
	ts.Check(err)
	defer out.Close()
	s.cmd = osexec.Command(quoin(ts), command...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = dir, scriptEnv(ts), out, out
	ts.Check(s.cmd.Start())
	go func() {
		s.exited <- s.cmd.Wait()
		close(s.exited)
	}()
	ts.Defer(func() {
		_ = s.cmd.Process.Kill() // fails only if it has ended already
		for range s.exited {     // until it has
		}
	})
	return s
}

// scriptEnv is what a command of the script finds in its environment.
func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "QUOIN_GUEST_PATH", "TMPDIR"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// await returns once the session has printed what matches each of the expressions, in any
// order, after what was waited for before.
func (s *session) await(all ...*regexp.Regexp) {
	w, err := fsnotify.NewWatcher()
	s.ts.Check(err)
	defer w.Close()
	s.ts.Check(w.Add(filepath.Dir(s.output)))
	for {
		b, err := os.ReadFile(s.output)
		s.ts.Check(err)
		end := s.read
		missing := slices.IndexFunc(all, func(re *regexp.Regexp) bool {
			m := re.FindIndex(b[s.read:])
			if m != nil {
				end = max(end, s.read+m[1])
			}
			return m == nil
		})
		if missing < 0 {
			s.read = end
			return
		}
		select {
		case <-w.Events:
		case err := <-w.Errors:
			s.ts.Check(err)
		case err := <-s.exited:
			s.ts.Fatalf("the session ended (%v) after it printed:\n%s\nwanted:\n%s", err, b[s.read:], all[missing])
		case <-time.After(awaitTime):
			s.ts.Fatalf("the session does not go on after it printed:\n%s\nwanted:\n%s", b[s.read:], all[missing])
		}
	}
}

// awaitTime bounds how long a session may print nothing that a script waits for.
const awaitTime = 5 * time.Minute

// interrupt ends the session as Ctrl-C does, and requires that it ends well.
func (s *session) interrupt() {
	s.ts.Check(s.cmd.Process.Signal(syscall.SIGINT))
	if err := <-s.exited; err != nil {
		s.ts.Fatalf("the session ended with %v\n%s", err, s.ts.ReadFile(s.output))
	}
}

// theSession is the last that the script has started.
func theSession(ts *testscript.TestScript) *session {
	s := *ts.Value(sessionKey{}).(**session)
	if s == nil {
		ts.Fatalf("there is no session")
	}
	return s
}

// cmdDevelop starts quoin plugin dev, or debug: develop [-debug] ARG...
func cmdDevelop(ts *testscript.TestScript, neg bool, args []string) {
	word := "dev"
	if len(args) > 0 && args[0] == "-debug" {
		word, args = "debug", args[1:]
	}
	*ts.Value(sessionKey{}).(**session) = beginSession(ts, ts.MkAbs("."), append([]string{"plugin", word}, args...))
}

// cmdByHand starts a plugin's binary as a debugger does, returns once it listens,
// and interrupts it at the end of the script, which must end it well: byhand FILE
func cmdByHand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: byhand FILE")
	}
	cmd := osexec.Command(ts.MkAbs(args[0]))
	cmd.Env = append(scriptEnv(ts), protocol.EnvDebug+"=1")
	said, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	first, err := bufio.NewReader(said).ReadString('\n')
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(syscall.SIGINT))
		ts.Check(cmd.Wait())
	})
	if err != nil || !strings.Contains(first, "for quoin plugin debug") {
		ts.Fatalf("it said %q (%v)", first, err)
	}
}

// cmdAwaits waits until the session has printed some texts, in any order, after what was
// awaited before: awaits TEXT...
func cmdAwaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: awaits TEXT...")
	}
	var all []*regexp.Regexp
	for _, text := range args {
		all = append(all, regexp.MustCompile(regexp.QuoteMeta(text)))
	}
	theSession(ts).await(all...)
}

// cmdEnds ends the session, or waits for its end, and requires how it ends:
// ends INT|KILL|failing TEXT
func cmdEnds(ts *testscript.TestScript, neg bool, args []string) {
	s := theSession(ts)
	switch {
	case !neg && slices.Equal(args, []string{"INT"}):
		s.interrupt()
	case !neg && slices.Equal(args, []string{"KILL"}):
		ts.Check(s.cmd.Process.Kill())
		<-s.exited
	case !neg && len(args) == 2 && args[0] == "failing":
		var exit *osexec.ExitError
		if err := <-s.exited; !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailed || !strings.Contains(ts.ReadFile(s.output), args[1]) {
			ts.Fatalf("the session ended with %v\n%s", err, ts.ReadFile(s.output))
		}
	default:
		ts.Fatalf("usage: ends INT|KILL|failing TEXT")
	}
}

// cmdOffers returns once a plugin of a server offers a tool: offers NAME PLUGIN TOOL
func cmdOffers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: offers NAME PLUGIN TOOL")
	}
	c, err := client.New(ts.Getenv(args[0]), client.Options{})
	ts.Check(err)
	defer c.Close()
	for {
		list, err := c.Plugins(context.Background())
		ts.Check(err)
		if slices.ContainsFunc(list, func(p gateway.Plugin) bool { return p.ID == args[1] && slices.Contains(p.Tools, args[2]) }) {
			return
		}
	}
}
