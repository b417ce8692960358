package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

// hosts are where commands run, and what judges them there.
type hosts struct {
	judge     *command.Judge
	launchers map[settings.Host]execution.Launcher // of this machine
	sandbox   *confine.Launcher                    // nil where there is no sandbox
}

func newHosts(s *settings.Settings, workdir string, log *slog.Logger) (h hosts, err error) {
	if h.judge, err = command.NewJudge(s); err != nil {
		return h, err
	}
	h.launchers = map[settings.Host]execution.Launcher{settings.Gateway: launch.New()}
	switch h.sandbox, err = machine.Sandbox(s, workdir, nil, log); {
	case err == nil:
		h.launchers[settings.Sandbox] = h.sandbox
	case s.Host == settings.Sandbox:
		return h, fmt.Errorf("plugins.shell.sandbox: %w", err)
	default:
		log.Warn("commands cannot run in a sandbox here", "error", err)
	}
	return h, nil
}

func (h hosts) close() error {
	if h.sandbox == nil {
		return nil
	}
	return h.sandbox.Close()
}

// judgePlan has the host of a plan judge its command. A node has a policy of its own, and
// the stricter of both holds.
func (s *shell) judgePlan(ctx context.Context, p *plan) error {
	if p.host != settings.Node {
		if s.hosts.launchers[p.host] == nil {
			return sdk.Errorf(codeHost, "commands cannot run on host %s here", p.host)
		}
		p.judgement = s.hosts.judge.In(p.dir).Judge(p.in.Command, p.in.Env)
		return nil
	}
	n, err := node.New(s.settings, p.node)
	if err != nil {
		return explain(err)
	}
	v, err := n.Judge(ctx, s.job(p, false))
	if err != nil {
		return explain(err)
	}
	p.judgement, p.dir = v.Judgement, v.Dir
	p.security, p.ask = stricter(securities, p.security, v.Security), stricter(asks, p.ask, v.Ask)
	return nil
}

// nodeCode is the code of an error of a node; empty if it is another's.
func nodeCode(err error) string {
	switch {
	case errors.Is(err, node.ErrRefused):
		return codeDenied
	case errors.Is(err, node.ErrApproval):
		return codeApproval
	case errors.Is(err, node.ErrUnavailable):
		return codeHost
	}
	return ""
}

// job is the command of a plan for a node.
func (s *shell) job(p *plan, approved bool) node.Job {
	j := node.Job{Line: p.in.Command, Dir: p.in.Workdir, Env: p.in.Env}
	if p.byList {
		j.Allow = &node.AllowList{Allow: s.settings.Allow, Rules: s.settings.Rules}
	}
	if approved {
		j.Approval = &node.Approval{Subject: p.judgement.Subject, Remembered: p.remembered}
	}
	return j
}

// launcher starts the command of a plan.
func (s *shell) launcher(p *plan, approved bool) (execution.Launcher, error) {
	if p.host != settings.Node {
		return s.hosts.launchers[p.host], nil
	}
	n, err := node.New(s.settings, p.node)
	if err != nil {
		return nil, explain(err)
	}
	return n.Launcher(s.job(p, approved)), nil
}
