package celltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/plugins"
)

// Patience is how long a cell may wait for its tools unless something else is said.
const Patience = 10 * time.Second

// maxWaits bounds how often a cell that yields continues.
const maxWaits = 100

// Session is whom cells run for.
var Session = host.Session{AgentID: "test", SessionKey: "test", SessionID: "test", TurnID: "test"}

// Outcome is what became of a cell.
type Outcome struct {
	// Cell is the cell.
	Cell *Cell
	// Problems are what was not as expected, with the line of the expectation,
	// from 1, or 0 without a line. A cell without problems has passed.
	Problems []Problem
	// Elapsed is how long the cell ran, without the start of its plugin.
	Elapsed time.Duration
	// Result is the last one, with the output of all of them.
	Result *host.Result
	// Updated says that the file's expectations were rewritten.
	Updated bool
}

// Problem is one thing that was not as expected.
type Problem struct {
	Line int
	Text string
	// Details are the single differences.
	Details []string
}

// Open makes a host with one plugin in development, which tells more of itself than others.
func Open(ctx context.Context, cfg host.Config, developed plugins.Candidate) (*host.Host, error) {
	h, err := host.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := h.Develop(ctx, developed); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Run runs a cell against a plugin. The error is about the host or the plugin, not about
// the cell.
func (c *Cell) Run(ctx context.Context, cfg host.Config, developed plugins.Candidate, patience time.Duration) (o *Outcome, err error) {
	h, err := Open(ctx, cfg, developed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	start := time.Now()
	r := h.Exec(ctx, Session, host.ExecInput{Code: c.Code, Language: c.Language, Wait: patience})
	var output []codemode.Output
	for i := 0; ; i++ {
		output = append(output, r.Output...)
		if r.Status != host.StatusWaiting || r.Reason != codemode.ReasonYield || i == maxWaits {
			break
		}
		r = h.WaitFor(ctx, Session, r.RunID, patience)
	}
	r.Output = output
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Outcome{Cell: c, Problems: c.check(r, time.Since(start)), Elapsed: time.Since(start), Result: r}, nil
}

// WaitsFor names the tools that have not answered for some time.
func WaitsFor(calls []codemode.PendingCall, elapsed time.Duration) string {
	var names []string
	for _, c := range calls {
		name := c.Tool
		if name == "" {
			name = c.Method
		}
		name = name[strings.LastIndexByte(name, ':')+1:] // of an id, the tool
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "waiting, after " + Spent(elapsed)
	}
	have := "has"
	if len(names) > 1 {
		have = "have"
	}
	return fmt.Sprintf("waiting for %s, which %s not answered for %s", strings.Join(names, ", "), have, Spent(elapsed))
}

// Spent writes a time for people.
func Spent(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// check holds a result against what is expected.
func (c *Cell) check(r *host.Result, elapsed time.Duration) []Problem {
	var list []Problem
	switch {
	case r.Status == host.StatusWaiting && r.Reason == codemode.ReasonPendingTools:
		list = append(list, Problem{Text: "the cell has not ended: it is " + WaitsFor(r.PendingToolCalls, elapsed) + "; --timeout sets how long it may"})
	case r.Status == host.StatusWaiting:
		list = append(list, Problem{Text: "the cell has not ended: it is waiting for " + string(r.Reason)})
	case c.want == nil && len(c.outputs) == 0:
		list = append(list, Problem{Text: "nothing is expected of this cell: write // want: JSON at its end, or run with --update", Details: []string{ending(r)}})
	case c.want != nil && c.want.word == "want-error":
		list = append(list, c.checkError(r)...)
	case r.Status == host.StatusFailed:
		list = append(list, Problem{Line: c.line(), Text: "the cell failed", Details: []string{ending(r)}})
	case c.want != nil:
		list = append(list, c.checkValue(r)...)
	}
	return append(list, c.checkOutput(r)...)
}

func (c *Cell) line() int {
	if c.want == nil {
		return 0
	}
	return c.want.first + 1
}

func (c *Cell) checkValue(r *host.Result) []Problem {
	got, err := decode(r.Value)
	if err != nil {
		return []Problem{{Line: c.line(), Text: "the value is not JSON: " + err.Error()}}
	}
	if d := differences(c.want.value, got); len(d) > 0 {
		return []Problem{{Line: c.line(), Text: "the value differs", Details: d}}
	}
	return nil
}

func (c *Cell) checkError(r *host.Result) []Problem {
	code, text, _ := strings.Cut(c.want.text, " ")
	text = strings.TrimSpace(text)
	switch {
	case r.Status != host.StatusFailed:
		return []Problem{{Line: c.line(), Text: "the cell did not fail", Details: []string{ending(r)}}}
	case code != string(r.Code) && code != string(r.Reason):
		return []Problem{{Line: c.line(), Text: fmt.Sprintf("want code or reason %s", code), Details: []string{ending(r)}}}
	case !strings.Contains(r.Error, text):
		return []Problem{{Line: c.line(), Text: fmt.Sprintf("want an error with %q", text), Details: []string{ending(r)}}}
	}
	return nil
}

// ending says in one line how a cell ended.
func ending(r *host.Result) string {
	if r.Status != host.StatusFailed {
		return fmt.Sprintf("it %s with %s", r.Status, shown(r.Value))
	}
	words := string(r.Code)
	if r.Reason != "" {
		words += ", " + string(r.Reason)
	}
	return words + ": " + r.Error
}

func (c *Cell) checkOutput(r *host.Result) []Problem {
	if len(c.outputs) == 0 {
		return nil
	}
	var want, got []any
	for _, d := range c.outputs {
		want = append(want, d.value)
	}
	for _, o := range r.Output {
		v, err := decode(o.Value)
		if err != nil {
			v = string(o.Value)
		}
		got = append(got, v)
	}
	if d := differences(want, got); len(d) > 0 {
		return []Problem{{Line: c.outputs[0].first + 1, Text: "the output differs", Details: d}}
	}
	return nil
}
