package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

// TestTheStricterWins goes through every configuration and every request.
func TestTheStricterWins(t *testing.T) {
	rank := map[string]int{"deny": 0, "allowlist": 1, "full": 2, "always": 0, "on-miss": 1, "off": 2}
	for _, configured := range securities {
		for _, asked := range []settings.Security{"", settings.Deny, settings.Allowlist, settings.Full} {
			got := stricter(securities, configured, asked)
			if rank[string(got)] > rank[string(configured)] || asked != "" && rank[string(got)] != min(rank[string(configured)], rank[string(asked)]) {
				t.Errorf("security %s, asked for %q: %s", configured, asked, got)
			}
		}
	}
	for _, configured := range asks {
		for _, asked := range []settings.Ask{"", settings.AskAlways, settings.AskOnMiss, settings.AskOff} {
			got := stricter(asks, configured, asked)
			if rank[string(got)] > rank[string(configured)] || asked != "" && rank[string(got)] != min(rank[string(configured)], rank[string(asked)]) {
				t.Errorf("ask %s, asked for %q: %s", configured, asked, got)
			}
		}
	}
	if got := stricter(securities, settings.Full, "anything"); got != settings.Full {
		t.Errorf("%s", got)
	}
	if got := stricter(securities, "", "anything"); got != settings.Deny {
		t.Errorf("words that are not known give %s, want deny", got)
	}
}

// TestDecisions is the table of the page on the shell: security and ask against what the
// allow-list says.
func TestDecisions(t *testing.T) {
	hit, miss, refused := command.Judgement{Allowed: true}, command.Judgement{}, command.Judgement{Allowed: true, Refused: true}
	for _, c := range []struct {
		security settings.Security
		ask      settings.Ask
		j        command.Judgement
		want     decision
	}{
		{settings.Deny, settings.AskOff, hit, refuse},
		{settings.Deny, settings.AskOnMiss, hit, refuse},
		{settings.Deny, settings.AskAlways, hit, refuse},
		{settings.Allowlist, settings.AskOff, hit, runAllowed},
		{settings.Allowlist, settings.AskOnMiss, hit, runAllowed},
		{settings.Allowlist, settings.AskAlways, hit, askFirst},
		{settings.Allowlist, settings.AskOff, miss, refuse},
		{settings.Allowlist, settings.AskOnMiss, miss, askFirst},
		{settings.Allowlist, settings.AskAlways, miss, askFirst},
		{settings.Full, settings.AskOff, miss, runAny},
		{settings.Full, settings.AskOnMiss, miss, runAny},
		{settings.Full, settings.AskAlways, miss, askFirst},
		{settings.Full, settings.AskOff, refused, refuse},
		{settings.Full, settings.AskAlways, refused, refuse},
		{settings.Allowlist, settings.AskOff, refused, refuse},
	} {
		p := &plan{policy: policy{security: c.security, ask: c.ask}, judgement: c.j}
		if p.decide(); p.decision != c.want {
			t.Errorf("%s, %s, %+v: decision %d, want %d", c.security, c.ask, c.j, p.decision, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	elevated := settings.Elevated{Enabled: true, Agents: []string{"ops"}}
	full := settings.Elevated{Enabled: true, Agents: []string{"ops"}, Full: true}
	for _, c := range []struct {
		configured settings.Settings
		in         execInput
		want       string
	}{
		{settings.Settings{Host: "sandbox"}, execInput{}, "sandbox allowlist on-miss"},
		{settings.Settings{Host: "sandbox"}, execInput{Host: "gateway"}, codeNotAllowed},
		{settings.Settings{Host: "sandbox"}, execInput{Host: "node", Node: "a"}, codeNotAllowed},
		{settings.Settings{Host: "sandbox"}, execInput{Node: "a"}, "invalid_input"},
		{settings.Settings{Host: "gateway"}, execInput{Host: "sandbox"}, "sandbox allowlist on-miss"},
		{settings.Settings{Host: "gateway"}, execInput{Host: "gateway"}, "gateway allowlist on-miss"},
		{settings.Settings{Host: "node", Node: "a"}, execInput{}, "node a allowlist on-miss"},
		{settings.Settings{Host: "node", Node: "a"}, execInput{Node: "a"}, "node a allowlist on-miss"},
		{settings.Settings{Host: "node", Node: "a"}, execInput{Node: "b"}, codeNotAllowed},
		{settings.Settings{Host: "node", Node: "a"}, execInput{Host: "gateway"}, codeNotAllowed},
		{settings.Settings{Host: "node"}, execInput{Node: "b"}, "node b allowlist on-miss"},
		{settings.Settings{Host: "node"}, execInput{}, "invalid_input"},

		{settings.Settings{Host: "sandbox"}, execInput{Elevated: true}, codeNotAllowed},
		{settings.Settings{Host: "sandbox", Elevated: settings.Elevated{Enabled: true}}, execInput{Elevated: true}, codeNotAllowed},
		{settings.Settings{Host: "sandbox", Elevated: settings.Elevated{Enabled: true, Agents: []string{"other"}}}, execInput{Elevated: true}, codeNotAllowed},
		{settings.Settings{Host: "sandbox", Elevated: settings.Elevated{Agents: []string{"ops"}, Full: true}}, execInput{Elevated: true}, codeNotAllowed},
		{settings.Settings{Host: "sandbox", Elevated: elevated}, execInput{Elevated: true}, "gateway allowlist on-miss elevated"},
		{settings.Settings{Host: "sandbox", Elevated: elevated}, execInput{Elevated: true, Host: "node"}, codeNotAllowed},
		{settings.Settings{Host: "sandbox", Elevated: elevated}, execInput{Elevated: true, Security: "full", Ask: "off"}, "gateway allowlist on-miss elevated"},
		{settings.Settings{Host: "sandbox", Elevated: full}, execInput{Elevated: true}, "gateway full off elevated"},
		{settings.Settings{Host: "sandbox", Elevated: full}, execInput{Elevated: true, Security: "allowlist", Ask: "always"}, "gateway allowlist always elevated"},
		{settings.Settings{Host: "sandbox", Elevated: full}, execInput{}, "sandbox allowlist on-miss"},
		{settings.Settings{Host: "sandbox", Security: "deny", Elevated: full}, execInput{Elevated: true, Security: "deny"}, "gateway deny off elevated"},
	} {
		s := c.configured
		if s.Security == "" {
			s.Security = settings.Allowlist
		}
		s.Ask = settings.AskOnMiss
		p, err := merge(&s, "ops", c.in)
		got := fmt.Sprint(p.host)
		if p.node != "" {
			got += " " + p.node
		}
		got += fmt.Sprintf(" %s %s", p.security, p.ask)
		if p.elevated {
			got += " elevated"
		}
		var e *sdk.Error
		if errors.As(err, &e) {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%+v with %+v: %s, want %s", c.in, c.configured, got, c.want)
		}
	}
}

// TestLeavingTheSandbox goes through what is configured for the sandbox, elevated.full and what a call asks for: a list
// that the sandbox lacks holds outside, and what is denied or always asked about is so everywhere.
func TestLeavingTheSandbox(t *testing.T) {
	for _, security := range securities {
		for _, ask := range asks {
			for _, full := range []bool{false, true} {
				s := &settings.Settings{Host: settings.Sandbox, Security: security, Ask: ask, Elevated: settings.Elevated{Enabled: true, Agents: []string{"ops"}, Full: full}}
				wantSecurity, wantAsk := settings.Allowlist, settings.AskOnMiss
				if full {
					wantSecurity, wantAsk = settings.Full, settings.AskOff
				}
				if security == settings.Deny {
					wantSecurity = settings.Deny
				}
				if ask == settings.AskAlways {
					wantAsk = settings.AskAlways
				}
				for _, call := range securities {
					for _, callAsk := range asks {
						p, err := merge(s, "ops", execInput{Elevated: true, Security: string(call), Ask: string(callAsk)})
						if err != nil || p.security != stricter(securities, wantSecurity, call) || p.ask != stricter(asks, wantAsk, callAsk) {
							t.Errorf("%s, %s, full %v, call %s, %s: %s, %s, %v", security, ask, full, call, callAsk, p.security, p.ask, err)
						}
					}
				}
				if p, err := merge(s, "ops", execInput{Elevated: true}); err != nil || p.security != wantSecurity || p.ask != wantAsk {
					t.Errorf("%s, %s, full %v: %s, %s, %v", security, ask, full, p.security, p.ask, err)
				}
			}
		}
	}
}
