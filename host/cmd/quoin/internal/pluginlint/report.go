package pluginlint

import (
	"slices"
	"strings"
)

// Severity tells what a host refuses from what it only serves badly.
type Severity string

// The severities.
const (
	// Error: a host does not load the plugin, or not the namespace in question.
	Error Severity = "error"
	// Warning: the plugin loads, but a model will have trouble with it.
	Warning Severity = "warning"
)

// Problem is one mistake.
type Problem struct {
	Severity Severity `json:"severity"`
	// Code names the kind of mistake. The list is append-only.
	Code string `json:"code"`
	// Where is the thing that is wrong: "plugin.json", "tool issues_list",
	// "namespace issues".
	Where string `json:"where"`
	// Message says what was found.
	Message string `json:"message"`
	// Fix says what to do; empty where Message does.
	Fix string `json:"fix,omitempty"`
}

// String returns the problem in one line.
func (p Problem) String() string {
	s := string(p.Severity) + ": " + p.Where + ": " + p.Message
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Report is what Check found. Problems are sorted: errors first, then by place.
type Report struct {
	// ID and Version are the manifest's; empty if it cannot be read.
	ID      string `json:"id"`
	Version string `json:"version"`
	// Dir is the absolute path of the folder.
	Dir        string    `json:"dir"`
	Tools      []string  `json:"tools"`
	Namespaces []string  `json:"namespaces"`
	Problems   []Problem `json:"problems"`
}

// Errors returns how many problems would keep a host from loading the plugin.
func (r *Report) Errors() int { return r.count(Error) }

// Warnings returns how many problems a model would stumble over.
func (r *Report) Warnings() int { return r.count(Warning) }

func (r *Report) count(s Severity) int {
	n := 0
	for _, p := range r.Problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

func (r *Report) add(s Severity, code, where, message, fix string) {
	r.Problems = append(r.Problems, Problem{s, code, where, message, fix})
}

// sort brings the problems into their order. Equal places keep theirs.
func (r *Report) sort() {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		if a.Severity != b.Severity {
			return strings.Compare(string(a.Severity), string(b.Severity))
		}
		return strings.Compare(a.Where, b.Where)
	})
}
