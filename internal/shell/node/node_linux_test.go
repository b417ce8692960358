package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// run starts a job with pipes.
func run(t *testing.T, n *Node, j Job) (execution.Process, error) {
	t.Helper()
	return n.Launcher(j).Start(t.Context(), execution.Command{})
}

// outputOf reads all that a process writes, and requires that it ends well.
func outputOf(t *testing.T, p execution.Process) string {
	t.Helper()
	out, err := io.ReadAll(p)
	if err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(); err != nil || exit != (execution.Exit{}) {
		t.Errorf("%+v, %v", exit, err)
	}
	return string(out)
}

// TestTheStricterPolicyWins runs commands under each pair of policies.
func TestTheStricterPolicyWins(t *testing.T) {
	t.Parallel()
	gateway := &AllowList{Allow: []string{"echo"}}
	for _, c := range []struct {
		name          string
		security, ask string
		line          string
		allow         *AllowList
		approved      bool
		want          error
	}{
		{"both allow", "allowlist", "on-miss", "echo", gateway, false, nil},
		{"the node alone allows", "allowlist", "on-miss", "cat /dev/null", gateway, false, ErrApproval},
		{"the node alone allows, and a person", "allowlist", "on-miss", "cat /dev/null", gateway, true, nil},
		{"the node alone allows and does not ask", "allowlist", "off", "cat /dev/null", gateway, true, nil},
		{"the node does not allow", "allowlist", "on-miss", "ls /", nil, false, ErrApproval},
		{"the node does not allow, a person does", "allowlist", "on-miss", "ls /; true", nil, true, nil},
		{"the node does not allow and does not ask", "allowlist", "off", "ls /", nil, true, ErrRefused},
		{"the node asks always", "allowlist", "always", "echo", gateway, false, ErrApproval},
		{"the node asks always, and has been told", "allowlist", "always", "echo", gateway, true, nil},
		{"the node denies", "deny", "always", "echo", nil, true, ErrRefused},
		{"the node allows all", "full", "off", "ls /", nil, false, nil},
		{"the node allows all, the gateway does not", "full", "off", "ls /", gateway, false, ErrApproval},
		{"the node allows all but asks", "full", "always", "ls /", nil, false, ErrApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := local(t, fmt.Sprintf(`{"host":"gateway","allow":["echo","cat"],"security":%q,"ask":%q}`, c.security, c.ask))
			job := Job{Line: c.line, Allow: c.allow}
			v, err := n.Judge(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if string(v.Security) != c.security || string(v.Ask) != c.ask {
				t.Errorf("the node says %s, %s", v.Security, v.Ask)
			}
			if c.approved {
				job.Approval = &Approval{Subject: v.Subject}
			}
			p, err := run(t, n, job)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if err == nil {
				outputOf(t, p)
			}
		})
	}
}

const asking = `{"host":"gateway","allow":["echo"]}`

// TestAnApprovalIsForOneSubject refuses an approval of something else.
func TestAnApprovalIsForOneSubject(t *testing.T) {
	t.Parallel()
	n := local(t, asking)
	v, err := n.Judge(t.Context(), Job{Line: "ls"})
	if err != nil || v.Subject == "" {
		t.Fatal(v, err)
	}
	for _, subject := range []string{"", "1", strings.Repeat("0", 64)} {
		if _, err := run(t, n, Job{Line: "ls", Approval: &Approval{Subject: subject}}); !errors.Is(err, ErrApproval) {
			t.Errorf("an approval of %q: %v", subject, err)
		}
	}
}

// TestARememberedApprovalRunsWhatWasJudged: the bytes of a job that no person has seen
// do not run.
func TestARememberedApprovalRunsWhatWasJudged(t *testing.T) {
	t.Parallel()
	n := local(t, asking)
	for line, want := range map[string]error{"cat /proc/self/cmdline": nil, "cat $HOME/x": ErrApproval} {
		v, err := n.Judge(t.Context(), Job{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		p, err := run(t, n, Job{Line: line, Approval: &Approval{Subject: v.Subject, Remembered: true}})
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", line, err, want)
		}
		if err != nil {
			continue
		}
		if out := outputOf(t, p); !strings.HasPrefix(out, "/") {
			t.Errorf("%s: %q", line, out)
		}
	}
}

// TestAVerdictSaysAllThatIsAskedAbout: what a person is shown, and what an approval is for.
func TestAVerdictSaysAllThatIsAskedAbout(t *testing.T) {
	t.Parallel()
	n := local(t, asking)
	v, err := n.Judge(t.Context(), Job{Line: "sh profile", Dir: "/etc"})
	if err != nil || len(v.Files) != 1 || v.Dir != "/etc" || len(v.Effective) != 1 || v.Effective[0].Digest == "" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := n.Judge(t.Context(), Job{Line: "echo", Dir: "etc"}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a relative directory: %v", err)
	}
	if v, err := n.Judge(t.Context(), Job{Line: "no-such-program"}); err != nil || v.Missing == "" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestATerminalOfTheAllowListTakesNoInput types into a program that the list allows, and
// into the same one when a person has approved it.
func TestATerminalOfTheAllowListTakesNoInput(t *testing.T) {
	t.Parallel()
	n := local(t, `{"host":"gateway","allow":["cat"]}`)
	job := Job{Line: "cat"}
	for _, approved := range []bool{false, true} {
		v, err := n.Judge(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if approved {
			job.Approval = &Approval{Subject: v.Subject}
		}
		p, err := n.Launcher(job).Start(t.Context(), execution.Command{Terminal: &execution.Size{Columns: 80, Rows: 24}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte("!sh\n")); (err == nil) != approved {
			t.Errorf("approved %v: %v", approved, err)
		}
		p.Kill()
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestInputAndOutputAreWhole sends a large text through a process.
func TestInputAndOutputAreWhole(t *testing.T) {
	t.Parallel()
	p, err := run(t, local(t, full), Job{Line: "exec cat"})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 5<<20)
	for i := range want {
		want[i] = byte(i ^ i>>8 ^ i>>16)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := p.Write(want)
		wrote <- errors.Join(err, p.CloseInput())
	}()
	if got := outputOf(t, p); got != string(want) {
		t.Errorf("%d bytes of %d", len(got), len(want))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// TestStartIsBoundByItsContext starts with a context that has ended, and with one that
// ends afterwards.
func TestStartIsBoundByItsContext(t *testing.T) {
	t.Parallel()
	l := local(t, full).Launcher(Job{Line: "echo on"})
	ctx, cancel := context.WithCancel(t.Context())
	p, err := l.Start(ctx, execution.Command{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if out := outputOf(t, p); out != "on\n" {
		t.Errorf("%q", out)
	}
	if _, err := l.Start(ctx, execution.Command{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
