package main

import (
	"cmp"
	"slices"

	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

// The codes of errors that programs can compare.
const (
	codeDenied     = "command_denied"     // the command must not run
	codeNotAllowed = "not_allowed"        // the configuration does not allow what the call asks for
	codeWorkdir    = "invalid_workdir"    // the working directory cannot be used
	codeApproval   = "approval_missing"   // a person would have to decide, and has not
	codeStart      = "start_failed"       // the command could not be started
	codeSession    = "process_lost"       // the process ended with the plugin
	codeHost       = "host_not_available" // commands cannot run there
)

// policy is where a call runs and by which rules.
type policy struct {
	host     settings.Host
	node     string
	security settings.Security
	ask      settings.Ask
	elevated bool
}

// Strictness, from the strictest.
var (
	securities = []settings.Security{settings.Deny, settings.Allowlist, settings.Full}
	asks       = []settings.Ask{settings.AskAlways, settings.AskOnMiss, settings.AskOff}
)

// merge is the configuration with what a call asks for: the stricter of both. What is configured is about the host that
// is configured: see elevate for what leaves it.
func merge(s *settings.Settings, agent string, in execInput) (policy, error) {
	p := policy{
		host:     cmp.Or(settings.Host(in.Host), s.Host),
		security: stricter(securities, s.Security, settings.Security(in.Security)),
		ask:      stricter(asks, s.Ask, settings.Ask(in.Ask)),
	}
	if in.Elevated {
		return elevate(s, agent, in, p)
	}
	// The sandbox is the boundary, so that a call may choose it, and cannot leave it.
	if p.host != s.Host && p.host != settings.Sandbox {
		return p, sdk.Errorf(codeNotAllowed, "host %s is not allowed here: leave host out to run in %s (plugins.shell.host)", p.host, s.Host)
	}
	return p.onNode(s, in)
}

// stricter returns the first of order that is configured or asked for; asked may be
// empty.
func stricter[T ~string](order []T, configured, asked T) T {
	if asked == "" {
		return configured
	}
	for _, v := range order {
		if v == configured || v == asked {
			return v
		}
	}
	return order[0]
}

// elevate is the policy of a command that leaves the sandbox. That a sandbox has no list says nothing of what is outside:
// there the allow-list holds and a person is asked, unless elevated.full is set. Who configures deny, or always to ask,
// means it everywhere.
func elevate(s *settings.Settings, agent string, in execInput, p policy) (policy, error) {
	switch {
	case !s.Elevated.Enabled:
		return p, sdk.Errorf(codeNotAllowed, "elevated commands are not allowed here (plugins.shell.elevated.enabled)")
	case agent == "":
		return p, sdk.Errorf(codeNotAllowed, "this session names no agent, and only the agents of plugins.shell.elevated.agents may run elevated commands")
	case !slices.Contains(s.Elevated.Agents, agent):
		return p, sdk.Errorf(codeNotAllowed, "agent %q may not run elevated commands (plugins.shell.elevated.agents)", agent)
	case in.Host != "" && in.Host != string(settings.Gateway):
		return p, sdk.Errorf(codeNotAllowed, "elevated commands run on host gateway, not on %s: leave host out", in.Host)
	}
	p.host, p.elevated = settings.Gateway, true
	security, ask := stricter(securities, s.Security, settings.Allowlist), stricter(asks, s.Ask, settings.AskOnMiss)
	if s.Elevated.Full {
		security, ask = settings.Full, settings.AskOff
		if s.Security == settings.Deny {
			security = settings.Deny
		}
		if s.Ask == settings.AskAlways {
			ask = settings.AskAlways
		}
	}
	p.security = stricter(securities, security, settings.Security(in.Security))
	p.ask = stricter(asks, ask, settings.Ask(in.Ask))
	return p.onNode(s, in)
}

// onNode fills in the node.
func (p policy) onNode(s *settings.Settings, in execInput) (policy, error) {
	if p.host != settings.Node {
		if in.Node != "" {
			return p, sdk.Errorf("invalid_input", "node %q is given, but the command runs on host %s: add host: \"node\"", in.Node, p.host)
		}
		return p, nil
	}
	p.node = cmp.Or(in.Node, s.Node)
	switch {
	case p.node == "":
		return p, sdk.Errorf("invalid_input", "node is missing: name the node that the command runs on, as in {node: \"build-1\"} (plugins.shell.node is one for all)")
	case s.Node != "" && in.Node != "" && in.Node != s.Node:
		return p, sdk.Errorf(codeNotAllowed, "node %q is not allowed here: leave node out to run on %q (plugins.shell.node)", in.Node, s.Node)
	}
	return p, nil
}
