package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// policy decides about the jobs of gateways by the configuration of the node.
type policy struct {
	settings *settings.Settings
	own      *command.Judge
	workdir  string // of commands that do not name one
}

func newPolicy(s *settings.Settings, workdir string) (*policy, error) {
	own, err := command.NewJudge(s)
	if err != nil {
		return nil, err
	}
	return &policy{settings: s, own: own, workdir: workdir}, nil
}

// ofGateway returns the judge of a gateway's allow-list. Executables are the node's.
func (p *policy) ofGateway(a *AllowList) (*command.Judge, error) {
	s := *p.settings
	s.Allow, s.Rules = a.Allow, a.Rules
	j, err := command.NewJudge(&s)
	if err != nil {
		return nil, fmt.Errorf("the allow-list of the gateway does not fit this node: %w", err)
	}
	return j, nil
}

// ruling is what the node has to do with a job.
type ruling struct {
	Verdict
	asks bool     // the node's own policy wants a person's approval
	argv []string // what runs without an approval
	// judged is the line that stands for the judgement; empty if parts are not understood.
	judged string
}

// rule judges a job by every allow-list that counts.
func (p *policy) rule(j *Job) (*ruling, error) {
	if err := command.CheckEnv(j.Env); err != nil {
		return nil, fmt.Errorf("%w: env: %w", ErrRefused, err)
	}
	dir, err := p.directory(j.Dir)
	if err != nil {
		return nil, err
	}
	v := Verdict{Judgement: p.own.In(dir).Judge(j.Line, j.Env), Security: p.settings.Security, Ask: p.settings.Ask, Dir: dir}
	listed, judged := v.Allowed, v.Line
	if v.Security == settings.Full {
		v.Allowed, v.Reasons = !v.Refused, nil
	}
	limited := v.Security != settings.Full
	if j.Allow != nil {
		judge, err := p.ofGateway(j.Allow)
		if err != nil {
			return nil, err
		}
		theirs := judge.In(dir).Judge(j.Line, j.Env)
		v.Allowed, v.Refused = v.Allowed && theirs.Allowed, v.Refused || theirs.Refused
		v.Reasons, v.NoInput = append(v.Reasons, theirs.Reasons...), v.NoInput || theirs.NoInput
		if !limited || v.Line == "" {
			v.Line = theirs.Line
		}
		limited = true
	}
	if !limited {
		v.Line = j.Line
	}
	v.Reasons = slices.Compact(v.Reasons)
	if v.Security == settings.Deny {
		v.Allowed, v.Refused = false, true
		v.Reasons = []string{"the node denies all commands: security is deny in its configuration"}
	}
	if v.Security == settings.Allowlist && !listed && v.Ask == settings.AskOff {
		v.Refused = true
		v.Reasons = append(v.Reasons, "the node does not ask about what is not on its allow-list: ask is off in its configuration")
	}
	if v.Refused || !v.Allowed && limited {
		v.Line = ""
	}
	r := &ruling{Verdict: v, argv: p.own.Argv(v.Line), judged: judged}
	r.asks = v.Ask == settings.AskAlways || v.Security == settings.Allowlist && !listed
	return r, nil
}

// decision is what runs for a job.
type decision struct {
	argv []string
	dir  string
	// listed reports that the node's allow-list, and no person, lets the job run.
	listed bool
}

// decide refuses what may not run. Without an approval that counts, nothing but what the
// lists allow runs.
func (p *policy) decide(j *Job) (*decision, error) {
	r, err := p.rule(j)
	if err != nil {
		return nil, err
	}
	reasons := strings.Join(r.Reasons, "; ")
	switch {
	case r.Refused:
		return nil, fmt.Errorf("%w: %s", ErrRefused, reasons)
	case j.Approval != nil && j.Approval.Subject != r.Subject:
		return nil, fmt.Errorf("%w: what it would run has changed since a person approved it", ErrApproval)
	case j.Approval != nil && j.Approval.Remembered && (r.Subject == "" || r.judged == ""):
		return nil, fmt.Errorf("%w: it cannot be remembered", ErrApproval)
	case j.Approval != nil && j.Approval.Remembered:
		return &decision{argv: p.own.Argv(r.judged), dir: r.Dir}, nil
	case j.Approval != nil:
		return &decision{argv: p.own.Argv(j.Line), dir: r.Dir}, nil
	case r.asks || !r.Allowed:
		return nil, fmt.Errorf("%w: %s", ErrApproval, reasons)
	}
	return &decision{r.argv, r.Dir, r.Security == settings.Allowlist}, nil
}

// directory is where a command runs that asks for dir. A node that runs commands in a
// sandbox lets them write below its own directories alone.
func (p *policy) directory(dir string) (string, error) {
	if dir == "" {
		dir = p.workdir
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: the working directory %q is not an absolute path, which a node needs", ErrRefused, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("%w: the working directory: %w", ErrRefused, err)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", fmt.Errorf("%w: the working directory %s is not a directory", ErrRefused, dir)
	}
	if p.settings.Host != settings.Sandbox {
		return real, nil
	}
	for _, root := range append([]string{p.workdir}, p.settings.Sandbox.Write...) {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if real == root || strings.HasPrefix(real, strings.TrimSuffix(root, "/")+"/") {
			return real, nil
		}
	}
	return "", fmt.Errorf("%w: the working directory %s is not below workdir or sandbox.write of the node's configuration", ErrRefused, dir)
}

// environment returns the environment of a command.
func (p *policy) environment(j *Job, dir string, terminal bool) []string {
	return machine.Environment(p.settings, machine.Place{Host: p.settings.Host, Dir: dir, Shell: p.own.Argv("")[0], Terminal: terminal}, j.Env)
}
