package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Job is a command line for a node.
type Job struct {
	// Line is the command line, byte for byte.
	Line string
	// Dir is the working directory, as an absolute path on the node. Defaults to the
	// node's own choice.
	Dir string
	// Env are variables in addition to those of the node.
	Env map[string]string
	// Allow is the gateway's allow-list, which counts in addition to the node's. Nil
	// when the gateway does not go by one: its security mode is full.
	Allow *AllowList
	// Approval is what a person at the gateway has approved, if one has. Judge does not
	// look at it.
	Approval *Approval
}

// AllowList is that of a configuration.
type AllowList struct {
	Allow []string
	Rules []settings.Rule
}

// Approval is a person's.
type Approval struct {
	ID string
	// Subject is that of the Verdict that the person saw.
	Subject string
	// Remembered says that the person saw an earlier job, so that what was judged runs,
	// and not the bytes of this one.
	Remembered bool
}

// Verdict is what a node says of a command line.
type Verdict struct {
	// Judgement is by each allow-list that counts. Its Subject is good for this node
	// alone.
	command.Judgement
	// Security and Ask are the node's own policy. The gateway cannot relax it.
	Security settings.Security
	Ask      settings.Ask
	// Dir is the directory in which the command would run.
	Dir string
}

// The bounds of what a gateway sends.
const (
	maxRequestBytes = 256 << 10 // of a message
	maxDirBytes     = 4 << 10
	maxVariables    = 256
	maxEnvBytes     = 64 << 10 // of names and values
	maxRules        = 1000     // patterns and rules of an allow-list
	maxNameBytes    = 128      // of what a gateway calls itself, and of the id of an approval
	maxWriteBytes   = 32 << 10 // of one write
)

// message is the job for the wire.
func (j Job) message() *nodepb.Job {
	m := &nodepb.Job{Line: j.Line, Dir: j.Dir, Env: j.Env}
	if j.Allow != nil {
		m.AllowList = &nodepb.AllowList{Allow: j.Allow.Allow}
		for _, r := range j.Allow.Rules {
			m.AllowList.Rules = append(m.AllowList.Rules, &nodepb.Rule{Command: r.Command, Match: r.Match, NotMatch: r.NotMatch})
		}
	}
	return m
}

// check refuses a job that breaks a limit, on both sides of the connection. What is valid
// as a protobuf message is bounded already, in all.
func (j Job) check() error {
	switch {
	case j.Line == "":
		return errors.New("there is no command line")
	case len(j.Line) > settings.MaxCommandBytes:
		return fmt.Errorf("the command line has %d bytes, and may have %d", len(j.Line), settings.MaxCommandBytes)
	case !utf8.ValidString(j.Line):
		return errors.New("the command line is not UTF-8")
	case len(j.Dir) > maxDirBytes || strings.ContainsRune(j.Dir, 0):
		return errors.New("the working directory is not a path")
	case j.Dir != "" && !strings.HasPrefix(j.Dir, "/") && !filepath.IsAbs(j.Dir):
		return fmt.Errorf("the working directory %q is not an absolute path, which a node needs", j.Dir)
	case len(j.Env) > maxVariables:
		return fmt.Errorf("there are %d variables, and may be %d", len(j.Env), maxVariables)
	}
	total := 0
	for name, value := range j.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%q is not a variable", name)
		}
		total += len(name) + len(value)
	}
	if total > maxEnvBytes {
		return fmt.Errorf("the variables have %d bytes, and may have %d", total, maxEnvBytes)
	}
	if j.Allow != nil && len(j.Allow.Allow)+len(j.Allow.Rules) > maxRules {
		return fmt.Errorf("the allow-list has more than %d entries", maxRules)
	}
	return nil
}

// jobOf reads and checks the job of a message.
func jobOf(m *nodepb.Job) (Job, error) {
	j := Job{Line: m.GetLine(), Dir: m.GetDir(), Env: m.GetEnv()}
	if a := m.GetAllowList(); a != nil {
		j.Allow = &AllowList{Allow: a.GetAllow()}
		for _, r := range a.GetRules() {
			j.Allow.Rules = append(j.Allow.Rules, settings.Rule{Command: r.GetCommand(), Match: r.GetMatch(), NotMatch: r.GetNotMatch()})
		}
	}
	return j, j.check()
}

// message is the verdict for the wire.
func (v Verdict) message() *nodepb.JudgeReply {
	m := &nodepb.JudgeReply{
		Allowed: v.Allowed, Reasons: v.Reasons, Line: v.Line, Subject: v.Subject, Refused: v.Refused,
		Security: string(v.Security), Ask: string(v.Ask), Dir: v.Dir,
	}
	for _, e := range v.Effective {
		m.Effective = append(m.Effective, &nodepb.Effective{Path: e.Path, Argv: e.Argv, Digest: e.Digest, Behind: e.Behind})
	}
	return m
}

// verdictOf reads and checks what a node says. A policy that it does not know is the
// strictest.
func verdictOf(m *nodepb.JudgeReply) Verdict {
	v := Verdict{
		Judgement: command.Judgement{Allowed: m.GetAllowed(), Reasons: m.GetReasons(), Line: m.GetLine(), Subject: m.GetSubject(), Refused: m.GetRefused()},
		Security:  settings.Security(m.GetSecurity()), Ask: settings.Ask(m.GetAsk()), Dir: m.GetDir(),
	}
	for _, e := range m.GetEffective() {
		v.Effective = append(v.Effective, command.Effective{Path: e.GetPath(), Argv: e.GetArgv(), Digest: e.GetDigest(), Behind: e.GetBehind()})
	}
	switch v.Security {
	case settings.Allowlist, settings.Full:
	default:
		v.Security, v.Refused = settings.Deny, true
	}
	switch v.Ask {
	case settings.AskOff, settings.AskOnMiss:
	default:
		v.Ask = settings.AskAlways
	}
	return v
}

// The outcomes of a job that no one has approved.
const (
	Runs    = "runs"
	Asks    = "asks"
	Refused = "refused"
)

// Outcome is what the node's policy makes of a job that no one has approved.
func (v *Verdict) Outcome() string {
	switch {
	case v.Refused, !v.Allowed && v.Ask == settings.AskOff:
		return Refused
	case v.Allowed && v.Ask != settings.AskAlways:
		return Runs
	}
	return Asks
}
