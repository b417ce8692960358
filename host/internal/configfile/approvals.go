package configfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/policy"
)

// approvalFile is one entry of approvals.
type approvalFile struct {
	name, title, description string
	subject                  string
	tools, allowed           []string
	severity                 policy.Severity
	timeout, remember        time.Duration
}

// approval reads one rule.
func (f *File) approval(i int) config.Field {
	a := &approvalFile{severity: policy.SeverityWarning, timeout: policy.DefaultApprovalTimeout, remember: policy.DefaultRemember}
	f.approvals = append(f.approvals, a)
	severities := []policy.Severity{policy.SeverityInfo, policy.SeverityWarning, policy.SeverityCritical}
	return config.Object(fmt.Sprint(i), []config.Field{
		config.Text("name", &a.name, "What allow-always is remembered under. Without it: what the rule says, so that a changed rule asks again."),
		config.Texts("tools", &a.tools, "Tools whose calls need an approval: patterns as in `tools.deny`. Without it: every call, and every program (`quoin:code_mode:exec`).").Check(checkPattern),
		config.Text("title", &a.title, "What a person is asked."),
		config.Text("description", &a.description, "More about it."),
		config.Choice("severity", &a.severity, severities, "How much depends on it."),
		config.Duration("timeoutMs", &a.timeout, time.Millisecond, policy.MinApprovalTimeout.Milliseconds(), policy.MaxApprovalTimeout.Milliseconds(),
			"How long a person has; no decision in time denies."),
		config.Texts("allowedDecisions", &a.allowed, "The decisions to choose from; deny is always among them. Without it: allow-once, and allow-always if there is a `subject`. A rule that names allow-always without a `subject` remembers it for the whole tool.").
			OneOf(string(policy.AllowOnce), string(policy.AllowAlways), string(policy.Deny)),
		config.Text("subject", &a.subject, "The part of the input that allow-always is remembered for, as `$.path` or `$.file.name`. A call without it offers no allow-always.").Check(policy.CheckSubjectPath),
		config.Duration("rememberDays", &a.remember, 24*time.Hour, 1, int64(policy.MaxRemember/(24*time.Hour)), "How long allow-always is remembered."),
	}, "One rule.")
}

// hooks returns the hooks that the rules stand for.
func (f *File) hooks() []policy.Hook {
	var out []policy.Hook
	for _, a := range f.approvals {
		rule := policy.ApprovalRule{Tools: a.tools, SubjectPath: a.subject, ApprovalRequest: policy.ApprovalRequest{
			Title: a.title, Description: a.description, Severity: a.severity, Timeout: a.timeout, Remember: a.remember,
		}}
		for _, d := range a.allowed {
			rule.Allowed = append(rule.Allowed, policy.Decision(d))
		}
		name := a.name
		if name == "" {
			name = a.digest()
		}
		if len(rule.Tools) == 0 {
			rule.Tools = []string{"*"}
		}
		h, err := rule.Hook(name)
		if err != nil { // nothing that has been read leads here; if it does, nothing may happen
			h = policy.Hook{Name: name, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { return policy.Verdict{}, err }}
		}
		out = append(out, h)
	}
	return out
}

// digest names a rule without a name by what it asks, by its calls and by the
// answers it allows: a rule that moves in the file keeps what was decided under it, and one
// that takes its place does not inherit it. How long a person has is left out.
func (a *approvalFile) digest() string {
	says := []any{sorted(a.tools), a.title, a.description, a.severity, sorted(a.allowed)}
	if a.subject != "" {
		says = append(says, a.subject)
	}
	b, err := json.Marshal(says)
	if err != nil {
		panic("host: strings cannot be encoded: " + err.Error()) // they always can
	}
	sum := sha256.Sum256(b)
	return "approvals rule " + hex.EncodeToString(sum[:8])
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// pluginHooks reads the grant of one plugin.
func (f *File) pluginHooks(id string) config.Field {
	var patterns []string
	return config.Texts(id, &patterns, "Patterns of the tools whose calls the plugin's hooks may see, besides its own.").Check(checkPattern).
		Then(func() { f.PluginHooks[id] = slices.Clone(patterns) })
}
