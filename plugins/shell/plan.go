package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/sdk"
)

// plan is what a call of exec does.
type plan struct {
	policy
	in        execInput
	dir       string // the working directory, without links
	byList    bool   // the configuration here goes by the allow-list
	judgement command.Judgement
	decision  decision
	reasons   []string
	subject   string
	// remembered says that a decision for always about an earlier call lets it run.
	remembered bool
}

// decision says whether a command may run.
type decision int

const (
	refuse decision = iota
	askFirst
	runAllowed // by the allow-list
	runAny     // by the security mode full
)

// plan decides what a call of exec does.
func (s *shell) plan(ctx context.Context, rc sdk.RunContext, in execInput) (*plan, error) {
	if strings.TrimSpace(in.Command) == "" {
		return nil, sdk.Errorf("invalid_input", "the command is blank: give the command line to run")
	}
	in.Workdir = cmp.Or(in.Workdir, in.Cwd)
	pol, err := merge(s.settings, rc.AgentID, in)
	if err != nil {
		return nil, err
	}
	p := &plan{policy: pol, in: in, byList: pol.security != settings.Full}
	if in.Background && s.settings.NoBackground {
		return nil, sdk.Errorf(codeNotAllowed, "commands in the background are not allowed here: leave background out (plugins.shell.noBackground)")
	}
	if p.dir, err = s.resolveWorkdir(p.host, in.Workdir); err != nil {
		return nil, err
	}
	if err := command.CheckEnv(in.Env); err != nil {
		return nil, sdk.Errorf(codeDenied, "env: %v", err)
	}
	if err := s.judgePlan(ctx, p); err != nil {
		return nil, err
	}
	p.decide()
	p.subject = p.makeSubject(s.settings.Elevated.Prefix)
	return p, nil
}

// decide applies security and ask to the judgement.
func (p *plan) decide() {
	p.reasons = p.judgement.Reasons
	switch {
	case p.judgement.Refused:
		p.decision = refuse
	case p.judgement.Missing != "" && p.security != settings.Full:
		p.decision = refuse // no person can make it run
	case p.security == settings.Deny:
		p.decision, p.reasons = refuse, []string{"the security mode is deny"}
	case p.security == settings.Full && p.ask != settings.AskAlways:
		p.decision = runAny
	case p.security == settings.Full:
		p.decision, p.reasons = askFirst, []string{"every command is asked about"}
	case p.judgement.Allowed && p.ask != settings.AskAlways:
		p.decision = runAllowed
	case p.judgement.Allowed:
		p.decision, p.reasons = askFirst, []string{"every command is asked about"}
	case p.ask == settings.AskOff:
		p.decision = refuse
	default:
		p.decision = askFirst
	}
}

// makeSubject is what an approval of the call is held against. Whatever the command
// would do otherwise with is part of it.
func (p *plan) makeSubject(prefix []string) string {
	env := make([]string, 0, len(p.in.Env))
	for name, value := range p.in.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	scope := "always"
	what := p.judgement.Subject
	if what == "" {
		scope, what = "once", p.in.Command
	}
	if !p.elevated {
		prefix = []string{}
	}
	programs := make([]string, len(p.judgement.Effective))
	for i, e := range p.judgement.Effective {
		programs[i] = e.Digest
	}
	b, err := json.Marshal([]any{scope, what, p.host, p.node, p.elevated, prefix, p.in.PTY, p.dir, env, programs, p.judgement.Files})
	if err != nil {
		panic(err) // texts always encode
	}
	sum := sha256.Sum256(b)
	subject := scope + ":" + hex.EncodeToString(sum[:])
	if scope == "once" {
		return subject
	}
	// It is listed with what was allowed for always, so that a person can tell what to revoke.
	var shown []string
	for _, e := range p.judgement.Effective {
		shown = append(shown, shownWords(e.Argv))
	}
	return subject + " " + text.Shorten(strings.Join(shown, "; "), maxShownSubject)
}

// maxShownSubject bounds, in bytes, the commands in a subject.
const maxShownSubject = 200

// rememberable reports that an approval may hold for later calls.
func (p *plan) rememberable() bool { return p.judgement.Subject != "" }

// inputRule says who may write to the process. An approved shell runs what it reads, and
// so does a program of the allow-list that takes commands from its input or, as a pager
// does, from its terminal.
func (p *plan) inputRule() sessions.InputRule {
	switch {
	case p.decision == askFirst, p.decision == runAllowed && p.in.PTY && p.ask != settings.AskOff:
		return sessions.ApprovedInput
	case p.decision == runAllowed && (p.in.PTY || p.judgement.NoInput):
		return sessions.NoInput
	}
	return sessions.FreeInput
}

// refusal is the error of a command that must not run.
func (p *plan) refusal() error {
	return sdk.Errorf(codeDenied, "the command is not allowed: %s", p.why())
}

// why says why the command does not just run.
func (p *plan) why() string { return strings.Join(p.reasons, "; ") }

// resolveWorkdir returns the working directory that a call has asked for, without links.
func (s *shell) resolveWorkdir(host settings.Host, asked string) (string, error) {
	if host == settings.Node {
		return asked, nil // the node has its own
	}
	if asked = strings.TrimSpace(asked); asked == "" {
		return s.workdir, nil
	}
	if !filepath.IsAbs(asked) {
		asked = filepath.Join(s.workdir, asked)
	}
	dir, err := filepath.EvalSymlinks(asked)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("it is not a directory")
		}
	}
	if err != nil {
		return "", sdk.Errorf(codeWorkdir, "workdir %q cannot be used: %v", asked, err)
	}
	if host == settings.Sandbox && !s.inSandbox(dir) {
		return "", sdk.Errorf(codeWorkdir, "workdir %q is not in the sandbox: use one below %s, or have the operator add it to plugins.shell.sandbox.read or write", dir, s.workdir)
	}
	return dir, nil
}

// inSandbox reports whether dir is one of the directories that commands in the sandbox
// see, or below one.
func (s *shell) inSandbox(dir string) bool {
	for _, root := range slices.Concat([]string{s.workdir}, s.settings.Sandbox.Write, s.settings.Sandbox.Read) {
		if resolved, err := filepath.EvalSymlinks(root); err == nil && below(resolved, dir) {
			return true
		}
	}
	return false
}

func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// terminal is the size that terminals have at first.
var terminal = execution.Size{Columns: 120, Rows: 40}

// command is what runs: what was asked for, byte for byte, or, if no person has seen it,
// the very files that were judged.
func (s *shell) command(p *plan) execution.Command {
	line := p.in.Command
	if p.decision == runAllowed || p.remembered {
		line = p.judgement.Line
	}
	argv := s.hosts.judge.Argv(line)
	if p.elevated {
		argv = slices.Concat(s.settings.Elevated.Prefix, argv)
	}
	place := machine.Place{Host: p.host, Dir: p.dir, Shell: s.hosts.judge.Argv("")[0], Terminal: p.in.PTY}
	c := execution.Command{
		Argv: argv, Dir: p.dir, Env: machine.Environment(s.settings, place, p.in.Env),
		Network: p.host == settings.Node || len(s.settings.Sandbox.Domains) > 0, // a node has its own domains
	}
	if p.in.PTY {
		size := terminal
		c.Terminal = &size
	}
	return c
}
