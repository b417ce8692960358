package node

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// pretending returns a node with a script as its ssh.
func pretending(t *testing.T, script string) *Node {
	t.Helper()
	ssh := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Node{name: "builder", address: "ssh://builder", command: []string{"/bin/sh", ssh}}
}

const hello1 = `echo '{"hello":{"quoin":"1","protocol":1}}'; read request; `

// TestWhyANodeDoesNotAnswer: each reason has a sentence of its own, with what to do.
func TestWhyANodeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`echo 'build@builder: Permission denied (publickey).' >&2; exit 255`: "builder: not available: ssh cannot log in (build@builder: Permission denied (publickey).): try ssh -o BatchMode=yes ssh://builder true",
		`echo 'sh: 1: quoin: not found' >&2; exit 127`:                       "finds no quoin there (sh: 1: quoin: not found): install it",
		`echo 'quoin: unknown command "shell-worker"' >&2; exit 2`:           "does not know the command shell-worker",
		`echo '{"hello":{"quoin":"2.0.0","protocol":2}}'; read request`:      "quoin 2.0.0 there speaks version 2 of their language, and this one version 1: install the same version",
		`echo 'quoin: plugins.shell: no' >&2; exit 1`:                        "shell-worker there has ended with exit status 1 (quoin: plugins.shell: no)",
		`echo 'Welcome to builder!'; read request`:                           "what the login shell there runs for commands must print nothing",
		`yes '"' | tr -d '\n'`:                                               "not in the protocol",
		hello1 + `echo '{"exit":{}}'`:                                        "not in the protocol",
		hello1 + `echo 'Connection closed' >&2; exit 255`:                    "Connection closed",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			n := pretending(t, script)
			_, err := n.Judge(t.Context(), Job{Line: "echo"})
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", script, err, want)
			}
			if _, err := run(t, n, Job{Line: "echo"}); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", script, err)
			}
		})
	}
}

// TestANodeThatBreaksTheRulesIsLost, and so is a node when its connection ends. What the
// process has written until then can be read.
func TestANodeThatBreaksTheRulesIsLost(t *testing.T) {
	t.Parallel()
	const out = hello1 + `echo '{"started":7}{"data":"aGVsbG8K"}'; `
	for script, want := range map[string]error{
		out + `echo '{"written":{"bytes":1}}{"written":{"bytes":1}}'`: errProtocol,
		out + `echo '{}'`: errProtocol,
		out + `printf '{"data":"'; yes | tr -d '\n'`:                           errProtocol,
		out + `echo 'client_loop: send disconnect: Broken pipe' >&2; exit 255`: errLost,
		out + `kill -9 $$`: errLost,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p, err := run(t, pretending(t, script), Job{Line: "echo"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(p)
			if string(got) != "hello\n" || !errors.Is(err, want) {
				t.Errorf("%s: %q, %v", script, got, err)
			}
			if exit, err := p.Wait(); !errors.Is(err, want) || !strings.Contains(err.Error(), "node builder: ") {
				t.Errorf("%s: %+v, %v", script, exit, err)
			}
			if _, err := p.Write([]byte("x")); err == nil {
				t.Error("a process that is lost takes input")
			}
			p.Kill()
		})
	}
}

// TestTheLastInputIsTaken: a process that ends at its input has taken it, also where the end is
// known before the answer is read.
func TestTheLastInputIsTaken(t *testing.T) {
	t.Parallel()
	p := &process{written: make(chan written, 1), gone: make(chan struct{})}
	close(p.gone)
	for range 50 {
		p.written <- written{Bytes: 1}
		if w, ok := p.answer(); !ok || w.Bytes != 1 {
			t.Fatalf("got %+v, %t", w, ok)
		}
	}
	if _, ok := p.answer(); ok {
		t.Error("a process that has ended answers")
	}
}

// quitter is a process that ends before the write which ends it has returned.
type quitter struct{ endless }

func (q *quitter) Start(context.Context, execution.Command) (execution.Process, error) { return q, nil }

func (q *quitter) Write(b []byte) (int, error) {
	close(q.killed)
	time.Sleep(time.Second)
	return len(b), nil
}

// TestAWriteIsAnsweredBeforeTheEnd of the process that it ends.
func TestAWriteIsAnsweredBeforeTheEnd(t *testing.T) {
	s, err := settings.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		theirs, in := io.Pipe()
		defer theirs.Close()
		w := Worker{Settings: s, Launcher: &quitter{endless{killed: make(chan struct{})}}, Workdir: "/", Version: "1"}
		var said strings.Builder
		served := make(chan error, 1)
		go func() { served <- w.Serve(t.Context(), theirs, &said) }()
		if err := say(in, `{"job":{"line":"x"},"run":true}{"write":"cQ=="}`); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		_, after, _ := strings.Cut(said.String(), `{"written":{"bytes":1}}`)
		if !strings.Contains(after, `"exit"`) {
			t.Errorf("the worker said %s", &said)
		}
	})
}

// TestAPolicyThatIsNotUnderstoodIsTheStrictest reads one of a later version.
func TestAPolicyThatIsNotUnderstoodIsTheStrictest(t *testing.T) {
	t.Parallel()
	n := pretending(t, hello1+`echo '{"verdict":{"Allowed":true,"Security":"lenient","Ask":"sometimes"}}'`)
	v, err := n.Judge(t.Context(), Job{Line: "echo"})
	if err != nil || !v.Refused || v.Security != settings.Deny || v.Ask != settings.AskAlways {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestUnknownNodes are refused with those that there are.
func TestUnknownNodes(t *testing.T) {
	t.Parallel()
	s, err := settings.Parse([]byte(`{"nodes":{"a":"ssh://a","b":"ssh://b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(s, "c"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), `there is no node "c": plugins.shell.nodes has a, b`) {
		t.Error(err)
	}
	s.Path = []string{t.TempDir()}
	if _, err := New(s, "a"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "install OpenSSH's client") {
		t.Error(err)
	}
}

// endless is a process that runs until it is killed.
type endless struct {
	execution.Process
	interrupted, killed chan struct{}
}

func (e *endless) Start(context.Context, execution.Command) (execution.Process, error) { return e, nil }

func (*endless) PID() int { return 7 }

func (e *endless) Read([]byte) (int, error) { <-e.killed; return 0, io.EOF }

func (e *endless) Write([]byte) (int, error) { <-e.killed; return 0, io.ErrClosedPipe }

func (e *endless) Interrupt() { close(e.interrupted) }

func (e *endless) Kill() {
	select {
	case <-e.killed:
	default:
		close(e.killed)
	}
}

func (e *endless) Wait() (execution.Exit, error) {
	<-e.killed
	return execution.Exit{Code: -1, Signal: "SIGKILL"}, nil
}

// TestAGatewayThatIsGoneLosesItsProcess: one that says nothing, one that ends, and one that
// breaks the rules.
func TestAGatewayThatIsGoneLosesItsProcess(t *testing.T) {
	s, err := settings.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	for name, gateway := range map[string]func(in *io.PipeWriter) error{
		"says nothing":        func(*io.PipeWriter) error { return nil },
		"ends":                func(in *io.PipeWriter) error { return in.Close() },
		"writes too soon":     func(in *io.PipeWriter) error { return say(in, `{"write":"eA=="}{"write":"eA=="}`) },
		"says what none says": func(in *io.PipeWriter) error { return say(in, `<html>`) },
		"kills":               func(in *io.PipeWriter) error { return say(in, `{"kill":true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endless{interrupted: make(chan struct{}), killed: make(chan struct{})}
				theirs, in := io.Pipe()
				defer theirs.Close()
				served := make(chan error, 1)
				w := Worker{Settings: s, Launcher: e, Workdir: "/", Version: "1"}
				go func() { served <- w.Serve(t.Context(), theirs, io.Discard) }()
				started := time.Now()
				if err := say(in, `{"job":{"line":"x"},"run":true}`); err != nil {
					t.Fatal(err)
				}
				for range 10 { // it is still there
					time.Sleep(heartbeat)
					if err := say(in, `{}`); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case err := <-served:
					t.Fatalf("it has ended with its gateway there: %v", err)
				default:
				}
				if err := gateway(in); err != nil {
					t.Fatal(err)
				}
				<-e.killed
				<-served
				if took := time.Since(started); took > 10*heartbeat+maxSilence+lostGrace {
					t.Errorf("the process has lived for %v", took)
				}
			})
		})
	}
}

func say(in io.Writer, text string) error {
	_, err := io.WriteString(in, text+"\n")
	return err
}

// TestAWorkerWaitsForNoOne: who connects and asks nothing does not stay.
func TestAWorkerWaitsForNoOne(t *testing.T) {
	s, err := settings.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		theirs, in := io.Pipe()
		defer in.Close()
		w := Worker{Settings: s, Workdir: "/"}
		if err := w.Serve(t.Context(), theirs, io.Discard); !errors.Is(err, errGone) {
			t.Error(err)
		}
	})
}
