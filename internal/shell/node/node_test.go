//go:build linux

package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

func TestMain(m *testing.M) {
	launch.Main()
	helperMain()
	goleak.VerifyTestMain(m)
}

// fixture is a node that listens on loopback, and a gateway that is enrolled at it.
type fixture struct {
	home    *Home
	nodes   *Nodes
	address string
	stop    context.CancelFunc
	ended   chan error
}

// serveNode starts a node with a policy.
func serveNode(t *testing.T, l execution.Launcher, change func(*settings.Settings)) *fixture {
	t.Helper()
	s, err := settings.Parse([]byte(`{"host":"gateway","allow":["echo","cat"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	dir := t.TempDir()
	f := &fixture{home: OpenHome(filepath.Join(dir, "node")), nodes: Open(filepath.Join(dir, "nodes")), ended: make(chan error, 1)}
	server, err := NewServer(Options{Home: f.home, Settings: s, Launcher: l, Workdir: dir, Version: "1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go func() { f.ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		if err := f.nodes.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// enrolled also enrols a gateway.
func enrolled(t *testing.T, l execution.Launcher, change func(*settings.Settings)) (*fixture, *Node) {
	t.Helper()
	f := serveNode(t, l, change)
	token, err := f.home.Invite(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.nodes.Add(t.Context(), "builder", f.address, token, "gateway"); err != nil {
		t.Fatal(err)
	}
	n, err := f.nodes.Node("builder")
	if err != nil {
		t.Fatal(err)
	}
	return f, n
}

func TestAnEnrolledGatewayRunsCommands(t *testing.T) {
	_, n := enrolled(t, launch.New(), nil)
	d, err := n.Describe(t.Context())
	if err != nil || d.Security != "allowlist" || d.Version != "1" {
		t.Fatalf("%+v, %v", d, err)
	}
	p, err := n.Start(t.Context(), Job{Line: "echo hello"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p)
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
	if exit, err := p.Wait(); err != nil || exit != (execution.Exit{}) {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestTheStricterPolicyWins runs commands under each pair of policies.
func TestTheStricterPolicyWins(t *testing.T) {
	gateway := &AllowList{Allow: []string{"echo"}}
	for _, c := range []struct {
		name     string
		security settings.Security
		ask      settings.Ask
		line     string
		allow    *AllowList
		approved bool
		want     error
	}{
		{"both allow", settings.Allowlist, settings.AskOnMiss, "echo", gateway, false, nil},
		{"the node alone allows", settings.Allowlist, settings.AskOnMiss, "cat /dev/null", gateway, false, ErrApproval},
		{"the node alone allows, and a person", settings.Allowlist, settings.AskOnMiss, "cat /dev/null", gateway, true, nil},
		{"the node alone allows and does not ask", settings.Allowlist, settings.AskOff, "cat /dev/null", gateway, true, nil},
		{"the node does not allow", settings.Allowlist, settings.AskOnMiss, "ls /", nil, false, ErrApproval},
		{"the node does not allow, a person does", settings.Allowlist, settings.AskOnMiss, "ls /; true", nil, true, nil},
		{"the node does not allow and does not ask", settings.Allowlist, settings.AskOff, "ls /", nil, true, ErrRefused},
		{"the node asks always", settings.Allowlist, settings.AskAlways, "echo", gateway, false, ErrApproval},
		{"the node asks always, and has been told", settings.Allowlist, settings.AskAlways, "echo", gateway, true, nil},
		{"the node denies", settings.Deny, settings.AskAlways, "echo", nil, true, ErrRefused},
		{"the node allows all", settings.Full, settings.AskOff, "ls /", nil, false, nil},
		{"the node allows all, the gateway does not", settings.Full, settings.AskOff, "ls /", gateway, false, ErrApproval},
		{"the node allows all but asks", settings.Full, settings.AskAlways, "ls /", nil, false, ErrApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, n := enrolled(t, launch.New(), func(s *settings.Settings) { s.Security, s.Ask = c.security, c.ask })
			job := Job{Line: c.line, Allow: c.allow}
			v, err := n.Judge(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if v.Security != c.security || v.Ask != c.ask {
				t.Errorf("the node says %s, %s", v.Security, v.Ask)
			}
			if c.approved {
				job.Approval = &Approval{ID: "1", Subject: v.Subject}
			}
			p, err := n.Start(t.Context(), job, nil, false)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, p); err != nil {
				t.Error(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
}

// TestAnApprovalIsForOneSubject refuses an approval of something else.
func TestAnApprovalIsForOneSubject(t *testing.T) {
	_, n := enrolled(t, launch.New(), nil)
	v, err := n.Judge(t.Context(), Job{Line: "ls"})
	if err != nil || v.Subject == "" {
		t.Fatal(v, err)
	}
	for _, subject := range []string{"", "1", strings.Repeat("0", 64)} {
		if _, err := n.Start(t.Context(), Job{Line: "ls", Approval: &Approval{Subject: subject}}, nil, false); !errors.Is(err, ErrApproval) {
			t.Errorf("an approval of %q: %v", subject, err)
		}
	}
}

// TestARememberedApprovalRunsWhatWasJudged: the bytes of a job that no person has seen
// do not run.
func TestARememberedApprovalRunsWhatWasJudged(t *testing.T) {
	_, n := enrolled(t, launch.New(), func(s *settings.Settings) { s.Allow = nil })
	for line, want := range map[string]error{"cat /proc/self/cmdline": nil, "cat $HOME/x": ErrApproval} {
		v, err := n.Judge(t.Context(), Job{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		p, err := n.Start(t.Context(), Job{Line: line, Approval: &Approval{ID: "1", Subject: v.Subject, Remembered: true}}, nil, false)
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", line, err, want)
		}
		if err != nil {
			continue
		}
		out, err := io.ReadAll(p)
		if err != nil || !strings.HasPrefix(string(out), "/") {
			t.Errorf("%s: %q, %v", line, out, err)
		}
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestATerminalOfTheAllowListTakesNoInput types into a program that the list allows, and
// into the same one when a person has approved it.
func TestATerminalOfTheAllowListTakesNoInput(t *testing.T) {
	_, n := enrolled(t, launch.New(), nil)
	job := Job{Line: "cat"}
	for _, approved := range []bool{false, true} {
		v, err := n.Judge(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if approved {
			job.Approval = &Approval{ID: "1", Subject: v.Subject}
		}
		p, err := n.Start(t.Context(), job, &execution.Size{Columns: 80, Rows: 24}, false)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { // the answer to a write comes after the echo of it
			_, err := io.Copy(io.Discard, p)
			read <- err
		}()
		if _, err := p.Write([]byte("!sh\n")); (err == nil) != approved {
			t.Errorf("approved %v: %v", approved, err)
		}
		p.Kill()
		if err := <-read; err != nil {
			t.Error(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}
