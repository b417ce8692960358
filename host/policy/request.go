package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
)

// Severity says how much depends on an approval.
type Severity string

// The severities, in ascending order.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning" // the default
	SeverityCritical Severity = "critical"
)

// severities are in rising order.
var severities = []Severity{SeverityInfo, SeverityWarning, SeverityCritical}

// rank orders severities. It is -1 for an unknown one.
func (s Severity) rank() int { return slices.Index(severities, s) }

// Decision is a person's answer.
type Decision string

// The decisions.
const (
	AllowOnce   Decision = "allow-once"
	AllowAlways Decision = "allow-always" // and remember it: see the package comment
	Deny        Decision = "deny"
)

var allDecisions = []Decision{AllowOnce, AllowAlways, Deny}

// Limits of an ApprovalRequest.
const (
	DefaultApprovalTimeout = 10 * time.Minute
	MinApprovalTimeout     = time.Second
	MaxApprovalTimeout     = 24 * time.Hour
	maxTitle               = 256     // bytes; more is refused: a person must see all of it
	maxDescription         = 8 << 10 // bytes; more is refused
	maxSubject             = 1 << 10 // bytes; more is refused
	maxReason              = 4 << 10 // bytes; more is cut
	// DefaultRemember is how long an allow-always is remembered.
	DefaultRemember = 30 * 24 * time.Hour
	MinRemember     = time.Minute
	MaxRemember     = 10 * 365 * 24 * time.Hour
)

// ApprovalRequest asks that a person decides about a call.
type ApprovalRequest struct {
	// Title says in a few words what is asked. Defaults to the tool's name.
	Title string
	// Description says what would happen.
	Description string
	// Severity defaults to SeverityWarning.
	Severity Severity
	// Timeout is how long a person has; no decision in time denies. Defaults to
	// 10 minutes; 1 s to 24 h, and clamped to that.
	Timeout time.Duration
	// Allowed are the decisions to choose from. Deny is always among them.
	// Defaults to all.
	Allowed []Decision
	// Subject narrows what allow-always is remembered for, for example to the
	// command that a shell tool would run. Defaults to the whole tool.
	Subject string
	// Remember is how long allow-always is remembered. Defaults to 30 days; 1
	// minute to 10 years, and clamped to that.
	Remember time.Duration
}

// Ask is a request and the hook that makes it.
type Ask struct {
	Hook string
	ApprovalRequest
	// Rewritten reports that a later hook has rewritten the input since.
	Rewritten bool
}

// resolved returns the request with defaults filled in, or what is wrong with it.
func (r ApprovalRequest) resolved() (ApprovalRequest, error) {
	if r.Severity == "" {
		r.Severity = SeverityWarning
	}
	if r.Severity.rank() < 0 {
		return r, fmt.Errorf("the approval's severity is %q, expected info, warning or critical", text.Cut(r.Severity, 64))
	}
	if r.Timeout < 0 {
		return r, fmt.Errorf("the approval's timeout is %v, expected a positive time", r.Timeout)
	}
	if r.Timeout == 0 {
		r.Timeout = DefaultApprovalTimeout
	}
	r.Timeout = min(max(r.Timeout, MinApprovalTimeout), MaxApprovalTimeout)
	if r.Remember != 0 {
		r.Remember = min(max(r.Remember, MinRemember), MaxRemember)
	}
	if len(r.Allowed) == 0 {
		r.Allowed = allDecisions
	}
	for _, d := range r.Allowed {
		if !slices.Contains(allDecisions, d) {
			return r, fmt.Errorf("the approval allows the decision %q, expected allow-once, allow-always or deny", text.Cut(d, 64))
		}
	}
	if len(r.Subject) > maxSubject {
		return r, fmt.Errorf("the approval's subject has %d bytes, at most %d fit", len(r.Subject), maxSubject)
	}
	r.Allowed = slices.DeleteFunc(slices.Clone(allDecisions), func(d Decision) bool {
		return d != Deny && !slices.Contains(r.Allowed, d)
	})
	r.Title, r.Description = shown(r.Title), shown(r.Description)
	if err := fits(r.Title, r.Description); err != nil {
		return r, err
	}
	r.Subject = strings.ToValidUTF8(r.Subject, "\uFFFD")
	return r, nil
}

// shown is a text of a hook as every person sees it, wherever it is shown: what would
// control a terminal or change the order of characters is an escape.
func shown(s string) string { return strings.ReplaceAll(terminal.Text(s), "\t", `\t`) }

// fits refuses a request that cannot be shown whole: what is cut off could be what matters.
func fits(title, description string) error {
	if len(title) > maxTitle {
		return fmt.Errorf("the approval's title has %d bytes, at most %d fit", len(title), maxTitle)
	}
	if len(description) > maxDescription {
		return fmt.Errorf("the approval's description has %d bytes, at most %d fit", len(description), maxDescription)
	}
	return nil
}

// errNoWayToAllow means that the requests for one call allow no common decision.
var errNoWayToAllow = errors.New("the hooks that ask for approval leave no decision but deny")

// Merge makes one request from the requests of several hooks. It fails if no common decision
// could allow the call.
func Merge(asks []Ask) (ApprovalRequest, error) {
	out := asks[0].ApprovalRequest
	for _, a := range asks[1:] {
		if out.Title == "" {
			out.Title = a.Title
		}
		if a.Description != "" && a.Description != out.Description {
			out.Description = strings.TrimPrefix(out.Description+"\n\n"+a.Description, "\n\n")
		}
		if a.Severity.rank() > out.Severity.rank() {
			out.Severity = a.Severity
		}
		out.Timeout = min(out.Timeout, a.Timeout)
		out.Allowed = slices.DeleteFunc(slices.Clone(out.Allowed), func(d Decision) bool { return !slices.Contains(a.Allowed, d) })
	}
	if err := fits(out.Title, out.Description); err != nil {
		return out, err
	}
	if len(out.Allowed) == 1 {
		return out, errNoWayToAllow
	}
	return out, nil
}

// plain returns s as text a person can read: no control characters but line
// breaks, nothing that reverses the order of what is shown.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return '\uFFFD'
		}
		return r
	}, s)
}
