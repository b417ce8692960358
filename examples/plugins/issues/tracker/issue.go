package tracker

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The states of an issue.
const (
	Open   = "open"
	Closed = "closed"
)

// Reasons lists why an issue may be closed; the first is the default.
var Reasons = []string{"completed", "not_planned", "duplicate"}

// Limits of one issue.
const (
	maxTitle    = 200    // characters
	maxBody     = 20_000 // characters, of an issue or a comment
	maxName     = 100    // characters of an assignee or author
	maxLabel    = 50     // characters
	maxLabels   = 20     // labels on one issue, or in one filter
	maxComments = 200    // comments returned with one issue, newest kept
)

// Issue is one issue without its comments.
type Issue struct {
	ID          int64      `json:"id" jsonschema:"number of the issue"`
	Title       string     `json:"title"`
	State       string     `json:"state" jsonschema:"open or closed"`
	CloseReason string     `json:"closeReason,omitempty" jsonschema:"completed, not_planned or duplicate; only when closed"`
	Labels      []string   `json:"labels" jsonschema:"sorted, lower case"`
	Assignee    string     `json:"assignee" jsonschema:"empty when nobody is assigned"`
	Author      string     `json:"author" jsonschema:"who created it"`
	Comments    int        `json:"comments" jsonschema:"how many comments it has"`
	Version     int64      `json:"version" jsonschema:"pass this back when you update"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt" jsonschema:"last edit or comment"`
	ClosedAt    *time.Time `json:"closedAt,omitempty"`
}

// Detail is one issue with its text.
type Detail struct {
	Issue
	Body   string    `json:"body"`
	Thread []Comment `json:"thread" jsonschema:"the latest 200 comments, oldest first"`
}

// Comment is one remark on an issue.
type Comment struct {
	ID        int64     `json:"id"`
	IssueID   int64     `json:"issueId"`
	Author    string    `json:"author"`
	Body      string    `json:"body"`
	CreatedAt time.Time `json:"createdAt"`
}

// Draft is what a new issue is made of.
type Draft struct {
	Title    string   `json:"title" jsonschema:"one line, at most 200 characters"`
	Body     string   `json:"body,omitempty" jsonschema:"description, at most 20000 characters"`
	Labels   []string `json:"labels,omitempty" jsonschema:"up to 20 labels; case does not matter"`
	Assignee string   `json:"assignee,omitempty" jsonschema:"who should work on it; leave out for nobody"`
}

// Patch is an edit: fields that are left out stay as they are.
type Patch struct {
	Version      int64    `json:"version" min:"1" jsonschema:"the version you read; the update fails with code conflict if the issue has changed since"`
	Title        *string  `json:"title,omitempty" jsonschema:"new title"`
	Body         *string  `json:"body,omitempty" jsonschema:"new description"`
	Assignee     *string  `json:"assignee,omitempty" jsonschema:"new assignee; an empty string unassigns"`
	Labels       []string `json:"labels,omitzero" jsonschema:"replaces all labels; not together with addLabels or removeLabels"`
	AddLabels    []string `json:"addLabels,omitempty" jsonschema:"labels to add"`
	RemoveLabels []string `json:"removeLabels,omitempty" jsonschema:"labels to take away"`
	State        *string  `json:"state,omitempty" jsonschema:"open reopens a closed issue; to close one use close"`
}

// Act says who does something, and under which idempotency key. Two acts with
// the same key have one effect and the same result; an empty key promises
// nothing.
type Act struct {
	Author string
	Key    string
}

func checkTitle(p *problems, title string) string {
	title = strings.TrimSpace(title)
	switch {
	case title == "":
		p.add("title", "must not be empty")
	case utf8.RuneCountInString(title) > maxTitle:
		p.add("title", "is longer than %d characters", maxTitle)
	case strings.ContainsFunc(title, unicode.IsControl):
		p.add("title", "must be one line without control characters")
	}
	return title
}

func checkBody(p *problems, body string, required bool) string {
	if required && strings.TrimSpace(body) == "" {
		p.add("body", "must not be empty")
	}
	if utf8.RuneCountInString(body) > maxBody {
		p.add("body", "is longer than %d characters", maxBody)
	}
	return body
}

func checkAssignee(p *problems, name string) string {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		p.add("assignee", "must be one line of at most %d characters", maxName)
	}
	return name
}

// checkLabels returns the labels folded, sorted and without repetitions.
func checkLabels(p *problems, field string, labels []string) []string {
	out := make([]string, 0, len(labels))
	for _, label := range labels {
		label = strings.ToLower(strings.TrimSpace(label))
		if label == "" || utf8.RuneCountInString(label) > maxLabel || strings.ContainsFunc(label, unicode.IsControl) {
			p.add(field, "must hold labels of 1 to %d characters on one line", maxLabel)
			return nil
		}
		out = append(out, label)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxLabels {
		p.add(field, "must hold at most %d labels", maxLabels)
	}
	return out
}
